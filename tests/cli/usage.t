A mistake in the command line is told with what to do, exits with 2, and runs nothing.

The version and the overview:

  $ tensor-wasm --version
  tensor-wasm \d+\.\d+\.\d+ (re)
  $ tensor-wasm -V
  tensor-wasm \d+\.\d+\.\d+ (re)
  $ tensor-wasm --help | sed -n 1,4p
  tensor-wasm runs WebAssembly, and its hot loops as native kernels with the same bits.
  ~
  Usage: tensor-wasm MODULE [args...]            runs a module: short for 'run'
         tensor-wasm COMMAND [options] ...
  $ tensor-wasm help > a; tensor-wasm -h > b; cmp a b
  $ tensor-wasm 2>&1 >/dev/null | cmp - a
  $ tensor-wasm >/dev/null 2>&1
  [2]

Each command explains itself, by --help and by help:

  $ for c in run validate inspect bench 'snapshot save' 'snapshot restore' 'snapshot inspect' 'snapshot verify' 'snapshot convert' \
  >     'snapshot diff' 'snapshot export' \
  >     devices doctor help; do
  >   tensor-wasm $c --help > a && tensor-wasm help $c > b && cmp a b && tensor-wasm $c -h | cmp - a &&
  >   head -1 a && grep -c '^Examples:' a
  > done
  tensor-wasm run: runs a WebAssembly module
  1
  tensor-wasm validate: says whether a module is valid here, or what is wrong and where
  1
  tensor-wasm inspect: tells of every loop whether it can be offloaded, or why not
  1
  tensor-wasm bench: measures starts and calls of a module: how many a second, how long each takes
  1
  tensor-wasm snapshot save: runs a module up to the end of a call and writes its state to a file
  1
  tensor-wasm snapshot restore: goes on from a snapshot file: calls a function of the guest in it
  1
  tensor-wasm snapshot inspect: checks a snapshot file and says what is in it
  1
  tensor-wasm snapshot verify: says whether a snapshot file is all that it has to be
  1
  tensor-wasm snapshot convert: writes the state of a snapshot file in another format, or with other keys
  1
  tensor-wasm snapshot diff: tells what differs between two snapshot files
  1
  tensor-wasm snapshot export: writes a module with a snapshot's state baked in, for any engine
  1
  tensor-wasm devices: lists devices that buffers can be shared with
  1
  tensor-wasm doctor: says what this machine offers
  1
  tensor-wasm help: explains a command
  1

A group lists its commands:

  $ tensor-wasm snapshot --help > a && tensor-wasm help snapshot > b && cmp a b && tensor-wasm snapshot 2>&1 >/dev/null | cmp - a
  $ grep -c '^  [a-z]' a; tensor-wasm snapshot > /dev/null 2>&1
  7
  [2]
  $ tensor-wasm snapshot sav x
  ! tensor-wasm: no command 'snapshot sav'; did you mean 'snapshot save'?
  ! See 'tensor-wasm snapshot --help'.
  [2]
  $ tensor-wasm help snapshot sav
  ! tensor-wasm: no command 'sav'
  ! See 'tensor-wasm --help'.
  [2]

No line of help is wider than a terminal:

  $ for c in run validate inspect bench snapshot 'snapshot save' 'snapshot restore' devices doctor help; do tensor-wasm $c --help; done | awk 'length > 100'

What is nearly right is named:

  $ tensor-wasm validte x.wasm
  ! tensor-wasm: no command and no file is called 'validte'; did you mean 'validate'?
  ! See 'tensor-wasm --help'.
  [2]
  $ tensor-wasm zzzz
  ! tensor-wasm: no command and no file is called 'zzzz'
  ! See 'tensor-wasm --help'.
  [2]
  $ tensor-wasm help inspcet
  ! tensor-wasm: no command 'inspcet'; did you mean 'inspect'?
  ! See 'tensor-wasm --help'.
  [2]
  $ tensor-wasm run --offlaod=off x.wasm
  ! tensor-wasm: unknown option '--offlaod'; did you mean '--offload'?
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --max-mem 1MiB x.wasm
  ! tensor-wasm: unknown option '--max-mem'; did you mean '--max-memory'?
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run -x x.wasm
  ! tensor-wasm: unknown option '-x'
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm doctor --jsn
  ! tensor-wasm: unknown option '--jsn'; did you mean '--json'?
  ! See 'tensor-wasm doctor --help'.
  [2]

Operands are counted:

  $ tensor-wasm run
  ! tensor-wasm: nothing to work on: usage is 'tensor-wasm run [options] MODULE [args...]'
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm validate a.wasm b.wasm
  ! tensor-wasm: b.wasm is one argument too many: usage is 'tensor-wasm validate [options] MODULE'
  ! See 'tensor-wasm validate --help'.
  [2]
  $ tensor-wasm doctor x
  ! tensor-wasm: x is one argument too many: usage is 'tensor-wasm doctor [options]'
  ! See 'tensor-wasm doctor --help'.
  [2]

Values are looked at, in both ways of writing them:

  $ tensor-wasm run --timeout 5 x.wasm
  ! tensor-wasm: --timeout: '5' is not a time with its unit, like 500ms, 2s or 1m, and more than 0
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --timeout=0ms x.wasm
  ! tensor-wasm: --timeout: '0ms' is not a time with its unit, like 500ms, 2s or 1m, and more than 0
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --timeout -5ms x.wasm
  ! tensor-wasm: --timeout: '-5ms' is not a time with its unit, like 500ms, 2s or 1m, and more than 0
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --max-memory 12parsecs x.wasm
  ! tensor-wasm: --max-memory: '12parsecs' is not a size, like 65536, 64KiB, 256MiB or 4GiB
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --max-memory=99999999999999GiB x.wasm
  ! tensor-wasm: --max-memory: '99999999999999GiB' is not a size, like 65536, 64KiB, 256MiB or 4GiB
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --threads many x.wasm
  ! tensor-wasm: --threads: 'many' is not a number, like 4
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --threads 4294967296 x.wasm
  ! tensor-wasm: --threads: '4294967296' is not a number, like 4
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --offload maybe x.wasm
  ! tensor-wasm: --offload: 'maybe' is not one of off|auto|force
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --offload
  ! tensor-wasm: --offload needs off|auto|force
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --canonical-nan=yes x.wasm
  ! tensor-wasm: --canonical-nan takes no value
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --report-format xml x.wasm
  ! tensor-wasm: --report-format: 'xml' is not one of text|json
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm inspect --dump=asm x.wasm r
  ! tensor-wasm: --dump: 'asm' is not one of ir|model|plan|schedule|llvm
  ! See 'tensor-wasm inspect --help'.
  [2]
  $ tensor-wasm inspect --dump=ir x.wasm
  ! tensor-wasm: --dump=ir needs the name of a region behind the module; 'tensor-wasm inspect x.wasm' lists them
  ! See 'tensor-wasm inspect --help'.
  [2]
  $ tensor-wasm inspect x.wasm region
  ! tensor-wasm: 'region': a region is only named with --dump
  ! See 'tensor-wasm inspect --help'.
  [2]

  $ tensor-wasm run --cache-dir= x.wasm
  ! tensor-wasm: --cache-dir: '' is not a folder
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --report-file '' x.wasm
  ! tensor-wasm: --report-file: '' is not a file
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm snapshot verify --hmac-key-file
  ! tensor-wasm: --hmac-key-file needs a file
  ! See 'tensor-wasm snapshot verify --help'.
  [2]

The guest's world is checked before anything runs:

  $ tensor-wasm run --dir nowhere x.wasm
  ! tensor-wasm: --dir: nowhere: No such file or directory
  ! See 'tensor-wasm run --help'.
  [2]
  $ touch file; tensor-wasm run --dir file::/f x.wasm
  ! tensor-wasm: --dir: file is not a folder
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --dir ::/f x.wasm
  ! tensor-wasm: --dir: '::/f' is not HOST or HOST::GUEST
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --env SURELY_NOT_SET x.wasm
  ! tensor-wasm: --env: SURELY_NOT_SET is not set here, so it can't be taken over; give SURELY_NOT_SET=VALUE
  ! See 'tensor-wasm run --help'.
  [2]
  $ tensor-wasm run --env =value x.wasm
  ! tensor-wasm: --env: '=value' has no name; give NAME=VALUE or NAME
  ! See 'tensor-wasm run --help'.
  [2]

Where --json was asked for, the mistake is JSON too:

  $ tensor-wasm validate --json --strict x.wasm
  {
    "error": {
      "status": "usage",
      "function": null,
      "offset": null,
      "message": "unknown option '--strict'"
    }
  }
  [2]
  $ tensor-wasm inspect --json
  {
    "error": {
      "status": "usage",
      "function": null,
      "offset": null,
      "message": "name a module, or a refusal with --explain"
    }
  }
  [2]

What can't be written isn't a success:

  $ tensor-wasm --version > /dev/full
  ! tensor-wasm: the output can't be written
  [1]
  $ tensor-wasm help run > /dev/full
  ! tensor-wasm: the output can't be written
  [1]
