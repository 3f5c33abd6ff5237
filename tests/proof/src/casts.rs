//! The hot casts, alone: what they compile to is held against counts in `machine.py`.

use tensorgate::TensorView;
use tensorgate::typed::LeF32;

macro_rules! casts {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $kind:ty),*) -> $out:ty $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: the names of this package are its own.
            #[expect(improper_ctypes_definitions, reason = "nobody calls it: its code is read")]
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub extern "C" fn $name($($argument: $kind),*) -> $out $body
        )*
    };
}

casts! {
    /// The bytes of a tensor.
    fn cast_bytes(view: &TensorView<'static>) -> &'static [u8] {
        view.bytes()
    }
    /// Elements at any alignment.
    fn cast_le_f32(view: &TensorView<'static>) -> Option<&'static [LeF32]> {
        view.as_le::<LeF32>().ok()
    }
    /// Aligned elements, as the machine has them.
    fn cast_native_f32(view: &TensorView<'static>) -> Option<&'static [f32]> {
        view.as_slice::<f32>().ok()
    }
    /// One element of them.
    fn cast_first_of_le(values: &'static [LeF32]) -> f32 {
        values.first().map_or(0.0, |value| value.get())
    }
    /// All elements, copied at once: the one call is to `memcpy`.
    fn cast_copy_f32(view: &TensorView<'static>, out: &mut [f32]) -> bool {
        view.copy_to(out).is_ok()
    }
}
