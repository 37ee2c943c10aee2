//! Copies the C headers that wasmtime-c-api-impl generates to $TW_INCLUDE_DIR.
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn copy_headers(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_headers(&path, &target)?;
        } else if path.extension().is_some_and(|e| e == "h") {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TW_INCLUDE_DIR");
    println!("cargo:rerun-if-env-changed=DEP_WASMTIME_C_API_INCLUDE");
    let from = env::var_os("DEP_WASMTIME_C_API_INCLUDE").expect("wasmtime-c-api-impl exports its header folder");
    let to = env::var_os("TW_INCLUDE_DIR")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env::var_os("OUT_DIR").unwrap()).join("include"));
    copy_headers(Path::new(&from), &to).expect("copy the C headers");
}
