//! What every backend keeps; a further one joins by a line in `on_every_backend`.

mod commit;
mod guards;
mod log;
mod reads;
