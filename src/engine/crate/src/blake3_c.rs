//! BLAKE3-256 for C: `src/blake3/blake3.h` declares these. The state lies in the caller's memory, so that hashing never
//! allocates. It is never dropped: the hasher's only field with a destructor is a fixed array of plain bytes.
use std::mem::{align_of, size_of, MaybeUninit};
use std::slice;

use blake3::Hasher;

/// As `tw_blake3` in the header.
#[repr(C, align(64))]
pub struct State {
    space: [MaybeUninit<u8>; 2048],
}
const _: () = assert!(size_of::<Hasher>() <= size_of::<State>() && align_of::<Hasher>() <= align_of::<State>());

#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_blake3_start(state: *mut State) {
    unsafe { state.cast::<Hasher>().write(Hasher::new()) }
}

/// `state` was started; `data` may be null when `size` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_blake3_add(state: *mut State, data: *const u8, size: usize) {
    if size > 0 {
        unsafe { (*state.cast::<Hasher>()).update(slice::from_raw_parts(data, size)) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_blake3_end(state: *const State, hash: &mut [u8; 32]) {
    unsafe { *hash = *(*state.cast::<Hasher>()).finalize().as_bytes() }
}
