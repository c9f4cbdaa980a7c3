//! Every detector has hits and look-alikes.
