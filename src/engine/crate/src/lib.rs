//! Wasmtime's C API, plus what it cannot do without the `gc` feature: every C call that carries a
//! funcref in `wasmtime_val_t` aborts the process there. These functions never do.
//!
//! All of them need the store's context that the handle belongs to, and are as thread-safe as the
//! store itself: not at all.
pub use wasmtime_c_api::*;

mod blake3_c;
mod pooling;

use std::mem::MaybeUninit;
use wasmtime_c_api::wasmtime::{Func, Global, Ref, Table, Val};

const DONE: i32 = 0;
const REFUSED: i32 = 1;
const NULL: i32 = 1;
const NOT_A_FUNCREF: i32 = 2;

/// `table[index] = func`, or null when `func` is null. 0: done, 1: out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_table_set_func(
    cx: WasmtimeStoreContextMut<'_>,
    table: &Table,
    index: u64,
    func: Option<&Func>,
) -> i32 {
    match table.set(cx, index, Ref::Func(func.copied())) {
        Ok(()) => DONE,
        Err(_) => REFUSED,
    }
}

/// 0: `*out` is written, 1: the entry is null, 2: out of range or not a funcref.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_table_get_func(
    cx: WasmtimeStoreContextMut<'_>,
    table: &Table,
    index: u64,
    out: &mut MaybeUninit<Func>,
) -> i32 {
    match table.get(cx, index) {
        Some(Ref::Func(Some(func))) => {
            out.write(func);
            DONE
        }
        Some(Ref::Func(None)) => NULL,
        _ => NOT_A_FUNCREF,
    }
}

/// Grows by `delta` null entries; `*previous` gets the old size. 0: done, 1: refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_table_grow_null(
    cx: WasmtimeStoreContextMut<'_>,
    table: &Table,
    delta: u64,
    previous: &mut u64,
) -> i32 {
    match table.grow(cx, delta, Ref::Func(None)) {
        Ok(size) => {
            *previous = size;
            DONE
        }
        Err(_) => REFUSED,
    }
}

/// 0: `*out` is written, 1: the global is null, 2: not a funcref.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_global_get_func(
    cx: WasmtimeStoreContextMut<'_>,
    global: &Global,
    out: &mut MaybeUninit<Func>,
) -> i32 {
    match global.get(cx) {
        Val::FuncRef(Some(func)) => {
            out.write(func);
            DONE
        }
        Val::FuncRef(None) => NULL,
        _ => NOT_A_FUNCREF,
    }
}

/// `global = func`, or null. 0: done, 1: refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_global_set_func(
    cx: WasmtimeStoreContextMut<'_>,
    global: &Global,
    func: Option<&Func>,
) -> i32 {
    match global.set(cx, Val::FuncRef(func.copied())) {
        Ok(()) => DONE,
        Err(_) => REFUSED,
    }
}
