/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm run: one module, one instance, its output and exit code. */
#include "cli/guest.h"
#include "tensorwasm/tensorwasm.h"

static const cli_guest_settings defaults = CLI_GUEST_DEFAULTS("run");

/* One key signs and verifies, one encrypts and decrypts; and who gives a key to verify with wants it verified. */
static int run(const void *given, const cli_operands *operands)
{
    cli_guest_settings s = *(const cli_guest_settings *)given;
    s.reading.hmac_key = s.writing.hmac_key = s.snapshot_key;
    s.reading.aead_key = s.writing.aead_key = s.snapshot_aead;
    s.reading.require_signature = s.reading.hmac_key || s.reading.ed25519_public;
    return cli_guest_live(&s, operands);
}

static const cli_option options[] = {
    {CLI_HEADING, 0, "", NULL, 0, "What is called", CLI_HINT_NONE},
    {CLI_TEXT, 0, "invoke", "NAME", CLI_GUEST_FIELD(invoke),
     "calls the export NAME instead of _start, with the arguments behind MODULE typed by its signature, and prints its "
     "results one a line",
     CLI_HINT_NONE},
    {CLI_HEADING, 0, "", NULL, 0, "Snapshots", CLI_HINT_NONE},
    {CLI_TEXT, 0, "snapshot-after", "EXPORT=FILE", CLI_GUEST_FIELD(snapshot_after),
     "writes a snapshot to FILE when the call of EXPORT has come back; if nothing else calls it, it is called first, without "
     "arguments",
     CLI_HINT_NONE},
    {CLI_TEXT, 0, "from-snapshot", "FILE", CLI_GUEST_FIELD(from_snapshot),
     "goes on from a snapshot of the same module, with its arguments and environment; _initialize isn't called again, "
     "tw_after_restore is, if there is one; each folder that the guest had must be given with --dir HOST::GUEST",
     CLI_HINT_FILE},
    CLI_VERIFY_OPTION(cli_guest_settings),
    CLI_BASE_OPTION(cli_guest_settings),
    {CLI_CHOICE, 0, "snapshot-format", CLI_FORMATS, CLI_GUEST_FIELD(writing.to),
     "the format of the snapshot that is written; an image is larger than an archive, and guests start from it at once", CLI_HINT_NONE},
    CLI_AGAINST_OPTION(cli_guest_settings),
    {CLI_TEXT, 0, "snapshot-key-file", "FILE", CLI_GUEST_FIELD(snapshot_key),
     "signs the snapshot that is written with this key (HMAC-SHA256), and takes only one that was signed with it; the file has "
     "mode 0600 and 32 bytes or 64 hexadecimal digits; so have the others",
     CLI_HINT_FILE},
    {CLI_TEXT, 0, "aead-key-file", "FILE", CLI_GUEST_FIELD(snapshot_aead),
     "encrypts the snapshot that is written with this key, and takes only one that was", CLI_HINT_FILE},
    {CLI_TEXT, 0, "sign-ed25519-key-file", "FILE", CLI_GUEST_FIELD(writing.ed25519_secret),
     "signs the snapshot that is written with this seed of an Ed25519 key", CLI_HINT_FILE},
    {CLI_TEXT, 0, "ed25519-public-key-file", "FILE", CLI_GUEST_FIELD(reading.ed25519_public),
     "takes only a snapshot that was signed with the other half of this key", CLI_HINT_FILE},
    {CLI_HEADING, 0, "", NULL, 0, "What the guest sees", CLI_HINT_NONE},
    CLI_GUEST_SEES,
    CLI_GUEST_LIMITS,
    CLI_GUEST_KERNELS,
    CLI_GUEST_TOLD,
};

static const cli_example examples[] = {
    {"tensor-wasm hello.wasm", "runs a WASI program; 'run' may be left out"},
    {"tensor-wasm run --dir data --env LANG=C app.wasm data/in.txt -o data/out.txt",
     "everything behind app.wasm is the program's; it sees the folder data"},
    {"tensor-wasm run --dir /srv/in::/in app.wasm /in/a.txt", "the guest knows the folder /srv/in as /in"},
    {"tensor-wasm run --invoke add add.wat 7 -5", "prints 2"},
    {"tensor-wasm run --invoke dot v.wasm f32x4:1,2,3,nan i32x4:1,2,3,4", "vectors are written lane by lane"},
    {"tensor-wasm run --timeout 2s --max-memory 256MiB app.wasm", "bounds time and memory"},
    {"tensor-wasm run --snapshot-after warm=app.snap app.wasm", "calls warm, keeps what has become of the guest, and goes on"},
    {"tensor-wasm run --from-snapshot app.snap --invoke query app.wasm 7", "goes on from there, in any process"},
    {"tensor-wasm run --from-snapshot store/app.twi --verify trusted app.wasm", "from an image in a private folder, whose pages aren't looked at before they are touched"},
    {"tensor-wasm run --report --offload=force gemm.wasm", "tells which loops ran as kernels, and why others didn't"},
    {"generate-wasm | tensor-wasm -", "runs a module that comes from a pipe"},
};

const cli_command cli_run = {
    .name = "run",
    .operands = "MODULE [args...]",
    .summary = "runs a WebAssembly module",
    .text =
        "MODULE is a .wasm or a .wat file, or - for stdin. All options come before it: everything behind it is the "
        "guest's. 'tensor-wasm MODULE' is short for 'tensor-wasm run MODULE'.\n"
        "A module that exports _start is a WASI program: it gets arguments, environment, folders and the standard "
        "streams, and its exit code is ours. One that exports _initialize is a reactor: that is called first, then the "
        "function of --invoke.\n"
        "A trap prints its kind, its place in the module and a backtrace, and exits with 134; a time-out exits with "
        "124.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .rest_is_guests = true,
    .run = run,
};
