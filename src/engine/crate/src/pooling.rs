//! For the figures in bench/ only, which compare our pools with the engine's own at its best: two settings of that pool
//! which its C API lacks. Nothing else refers to this, so that linkers leave it out.
use wasmtime_c_api::wasm_config_t;
use wasmtime_c_api::wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// `config` is a `wasm_config_t` of the C API, which is `repr(C)` with a `Config` as its only field.
/// `count`: memories, tables and instances; 0 leaves the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_bench_pooling(
    config: *mut wasm_config_t,
    count: u32,
    memory_keep_resident: usize,
    table_keep_resident: usize,
    pagemap_scan: bool,
) -> bool {
    let mut pool = PoolingAllocationConfig::new();
    if count > 0 {
        pool.total_memories(count).total_tables(count).total_core_instances(count);
    }
    pool.linear_memory_keep_resident(memory_keep_resident);
    pool.table_keep_resident(table_keep_resident);
    if pagemap_scan {
        pool.pagemap_scan(Enabled::Yes);
    }
    let config = unsafe { &mut *config.cast::<Config>() };
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    !pagemap_scan || PoolingAllocationConfig::is_pagemap_scan_available()
}
