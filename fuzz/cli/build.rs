//! The command line's own entry for fuzz targets is there under this flag only, which the engine sets as well.

fn main() {
    println!("cargo::rustc-cfg=fuzzing");
    println!("cargo::rerun-if-changed=build.rs");
}
