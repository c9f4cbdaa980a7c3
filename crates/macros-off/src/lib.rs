//! Macros that generate nothing, in place of those of other crates that a build of this product does not need.

use proc_macro::TokenStream;

/// Generates nothing; accepts the attributes of the derive of the same name in `schemars`. For builds that read generated schemas instead
/// of generating them.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn json_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Returns the item without the attribute, which tells the verifier Verus what to prove about it.
#[proc_macro_attribute]
pub fn verus_verify(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Returns the function without the attribute, in which Verus reads what to prove about it.
#[proc_macro_attribute]
pub fn verus_spec(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
