devices lists what is here and what it can do, and says why the rest isn't. The drivers are stand-ins, found as real ones are.

  $ D=$GUESTS/../../devices; export LD_LIBRARY_PATH=$D/cuda:$D/opencl; tensor-wasm devices | sed 1,6d
  cuda 0: stand-in A
    driver         CUDA driver 12.4
    version        compute capability 9.0
    memory         1073741824 bytes
    compute units  4
    backends       cuda-managed, cuda-pinned
    can            prefetch, advise, concurrent-access
  cuda 1: stand-in B
    driver         CUDA driver 12.4
    version        compute capability 8.0
    memory         1073741824 bytes
    compute units  4
    backends       cuda-managed, cuda-pinned
  cuda 2: stand-in C
    driver         CUDA driver 12.4
    version        compute capability 7.0
    memory         1073741824 bytes
    compute units  4
    backends       cuda-pinned
  opencl 0: coarse
    driver         Stand-in 1.0
    version        OpenCL 2.0 stand-in
    memory         1073741824 bytes
    compute units  3
    backends       opencl-svm
    can            svm-coarse
  opencl 1: fine
    driver         Stand-in 1.0
    version        OpenCL 2.1 stand-in
    memory         1073741824 bytes
    compute units  3
    backends       opencl-svm
    can            prefetch, svm-coarse, svm-fine, svm-atomics
  opencl 2: old
    driver         Stand-in 1.0
    version        OpenCL 1.2 stand-in
    memory         1073741824 bytes
    compute units  3

The host is always there:

  $ D=$GUESTS/../../devices; export LD_LIBRARY_PATH=$D/cuda:$D/opencl; tensor-wasm devices | head -6
  host 0: .+ (re)
    driver         Linux .+ (re)
    memory         \d+ bytes (re)
    compute units  \d+ (re)
    backends       host
    can            prefetch

What isn't here is no failure:

  $ D=$GUESTS/../../devices; export LD_LIBRARY_PATH=$D/cuda-lacking:$D/opencl STANDIN_FAIL=clGetPlatformIDs:-1001
  > tensor-wasm devices | sed 1,6d
  cuda-managed: not available: libcuda.so.1 lacks cuMemAllocManaged: it is too old, or damaged
  cuda-pinned: not available: libcuda.so.1 lacks cuMemAllocManaged: it is too old, or damaged
  opencl-svm: not available: OpenCL's loader is here, and no platform of its (clGetPlatformIDs: -1001)
  $ D=$GUESTS/../../devices; mkdir -p broken; echo no library > broken/libcuda.so.1
  > LD_LIBRARY_PATH=$PWD/broken:$D/opencl tensor-wasm devices | grep '^cuda' | sed "s|$PWD|HERE|"
  cuda-managed: not available: HERE/broken/libcuda.so.1: file too short
  cuda-pinned: not available: HERE/broken/libcuda.so.1: file too short
  $ D=$GUESTS/../../devices; LD_LIBRARY_PATH=$D/cuda:$D/opencl STANDIN_FAIL=cuInit:100 tensor-wasm devices | grep ^cuda
  cuda-managed: not available: cuInit: error 100, CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)
  cuda-pinned: not available: cuInit: error 100, CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)

As JSON, the same:

  $ D=$GUESTS/../../devices; export LD_LIBRARY_PATH=$D/cuda-old:$D/opencl STANDIN_FAIL=clGetDeviceIDs:-1
  > tensor-wasm devices --json > a; python3 - <<'END'
  > import json
  > said = json.load(open("a"))
  > print(sorted(said), [(d["kind"], d["index"]) for d in said["devices"]])
  > print(sorted(said["devices"][0]))
  > print(json.dumps(said["devices"][1]))
  > for b in said["backends"]: print(json.dumps(b))
  > END
  ['backends', 'devices'] [('host', 0), ('cuda', 0), ('cuda', 1), ('cuda', 2)]
  ['backends', 'can', 'compute_units', 'driver', 'index', 'kind', 'memory_bytes', 'name', 'version']
  {"kind": "cuda", "index": 0, "name": "stand-in A", "driver": "CUDA driver 11.8", "version": "compute capability 9.0", "memory_bytes": 1073741824, "compute_units": 4, "backends": ["cuda-managed", "cuda-pinned"], "can": ["prefetch", "advise", "concurrent-access"]}
  {"name": "host", "available": true, "why": null}
  {"name": "cuda-managed", "available": true, "why": null}
  {"name": "cuda-pinned", "available": true, "why": null}
  {"name": "opencl-svm", "available": false, "why": "OpenCL's platforms have no device"}

It takes nothing to work on:

  $ tensor-wasm devices 0
  ! tensor-wasm: 0 is one argument too many: usage is 'tensor-wasm devices [options]'
  ! See 'tensor-wasm devices --help'.
  [2]
