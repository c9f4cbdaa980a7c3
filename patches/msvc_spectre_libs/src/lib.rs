//! Nothing: the crate of this name has Microsoft's linker take other libraries, and does nothing on Unix. Its build script brings
//! five crates, one of which has the parser of all procedural macros compiled with parts that nothing else needs.
