//! Files in, findings out: the gates an agent's change is held to.
