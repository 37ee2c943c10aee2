The man page and the completions are printed from the tables that the program parses with.

Every option of every command is in each of them:

  $ tensor-wasm generate man > man; tensor-wasm generate bash > bash
  $ tensor-wasm generate zsh > zsh; tensor-wasm generate fish > fish
  $ actions=$(tensor-wasm snapshot --help | sed -n 's/^  \([a-z]*\)  .*/snapshot-\1/p'); echo $actions | wc -w
  7
  $ for c in run validate inspect bench $actions devices doctor; do tensor-wasm $(echo $c | tr - ' ') --help; done | grep -o '^  .\{4\}--[a-z0-9-]*' |
  >   sed 's/.*--//' | sort -u > options; test $(wc -l < options) -ge 20 && echo many
  many
  $ for o in $(cat options); do
  >   sed 's/\\-/-/g' man | grep -q -e "--$o" || echo "man: $o"
  >   grep -q -e "--$o" bash || echo "bash: $o"; grep -q -e "--$o" zsh || echo "zsh: $o"
  >   test $o = help || grep -q -e "-l $o" fish || echo "fish: $o"
  > done

Each is well formed, as far as its reader is installed:

  $ bash -n bash
  $ ! command -v zsh >/dev/null || zsh -n zsh
  $ ! command -v fish >/dev/null || fish -n fish
  $ ! command -v groff >/dev/null || groff -man -ww -Tutf8 man 2>&1 >/dev/null

Apostrophes of the tables arrive:

  $ grep -c "argv0.*guest'..'s argument 0" zsh fish
  zsh:3
  fish:3

bash offers commands, options and the words of a choice:

  $ cat > complete.sh <<'END'
  > . ./bash
  > COMP_WORDS=(tensor-wasm "$@"); COMP_CWORD=$#; _tensor_wasm; echo "${COMPREPLY[@]}"
  > END
  $ bash complete.sh ins
  inspect
  $ bash complete.sh run --offl
  --offload
  $ bash complete.sh run --offload ''
  off auto force
  $ bash complete.sh run --offload = f
  force
  $ bash complete.sh snapshot ver
  verify
  $ bash complete.sh snapshot save --to ''
  archive v2 v3 v4 image
  $ bash complete.sh snapshot restore --absent; bash complete.sh snapshot restore --expect
  ~
  --expect-nonce
  $ bash complete.sh help doc
  doctor
  $ touch module.wasm; bash complete.sh validate mod
  module.wasm

What isn't known is refused:

  $ tensor-wasm generate powershell
  ! tensor-wasm: 'powershell' is not one of man|bash|zsh|fish
  ! See 'tensor-wasm generate --help'.
  [2]
