//! The checks from outside: real folders, real repositories, real programs.

#[cfg(test)]
mod any_input;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod base;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod detectors;
mod forgiven;
#[cfg(test)]
mod history;
#[cfg(test)]
mod imports;
mod integrity;
#[cfg(test)]
mod key_formats;
#[cfg(test)]
mod listed;
mod marks;
#[cfg(test)]
mod new_tests;
mod of_change;
mod placeholder;
#[cfg(test)]
mod readers;
mod render;
#[cfg(test)]
mod scratch;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod syntax;
#[cfg(test)]
mod todo;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod verbs;
