snapshot reads a snapshot file as a reader would that trusts nothing, and says what is in it or why not.

Keys, as files that only their owner can read:

  $ umask 077; printf '%02x' $(seq 0 31) > hmac; printf '%02x' $(seq 128 159) > hmac2; printf '%02x' $(seq 160 191) > aead
  > echo 2152f8d19b791d24453242e15f2eab6cb7cffa7b6a5ed30097960e069881db12 > ed; ls -l hmac | cut -c1-10
  -rw-------

What is in a file:

  $ cp $DATA/craton/good/v2_seq7_nonce.snap .; tensor-wasm snapshot inspect v2_seq7_nonce.snap
  v2_seq7_nonce.snap: v2, not signed
    tenant           0x1
    instance         0x2
    created          2026-01-01T00:00:00Z, 1767225600000 ms since 1970
    sequence number  7
    nonce            000102030405060708090a0b0c0d0e0f
    wasm memory      4 bytes
    device memory    3 bytes
    registers        2 bytes
  $ tensor-wasm snapshot inspect --hmac-key-file hmac $DATA/archive/v1_conformance_hmac.snap | sed 's/^.*archive.v1/v1/'
  v1_conformance_hmac.snap: archive, signed with HMAC-SHA256
    tenant           0xb4cc0af2deadbeef
    instance         0x123456789abcdef0f00dbabecafe5a5a
    created          2026-01-01T00:00:00Z, 1767225600000 ms since 1970
    sequence number  0
    nonce            none
    wasm memory      8192 bytes
    device memory    4096 bytes
    registers        512 bytes
  $ tensor-wasm snapshot inspect --json - < $DATA/craton/good/v2_maxvals.snap
  {
    "file": "-",
    "format": "v2",
    "version": 2,
    "signature": null,
    "encrypted": false,
    "tenant": "0xffffffffffffffff",
    "instance": "0xffffffffffffffffffffffffffffffff",
    "created_unix_ms": "18446744073709551615",
    "created": null,
    "sequence": "18446744073709551615",
    "nonce": "ffffffffffffffffffffffffffffffff",
    "wasm_memory": 1,
    "device_memory": 0,
    "registers": 3,
    "total_uncompressed_bytes": 4,
    "guest": null
  }

What of a guest's is in it; of its variables only the names:

  $ cat > g.wat <<'END'
  > (module (memory (export "memory") 1 4) (table 2 funcref) (table 1 funcref) (global (mut i32) (i32.const 0)) (data $d "x") (data $e "y")
  >  (func (export "f") (data.drop $d)) (func (export "g") (data.drop $e)))
  > END
  $ mkdir in; tensor-wasm snapshot save --dir in::/in --env SECRET=value --invoke f -o g.snap g.wat
  $ tensor-wasm snapshot inspect g.snap | sed '1,/registers/d; s/[0-9a-f]\{64\}/HASH/'
    of the module    BLAKE3 HASH
    memory's limit   4294967296 bytes
    mutable globals  1
    tables           2 1 elements
    dropped          1 of 2 segments
    arguments        g.wat
    variables        SECRET
    folders          /in
  $ tensor-wasm snapshot inspect --json g.snap | python3 -c 'import json, sys; g = json.load(sys.stdin)["guest"]; del g["module_blake3"]; print(g)'
  {'max_memory': 4294967296, 'mutable_globals': 1, 'tables': [2, 1], 'droppable_segments': 2, 'dropped_segments': 1, 'wasi': True, 'arguments': ['g.wat'], 'variables': ['SECRET'], 'folders': ['/in'], 'buffers': []}
  $ tensor-wasm snapshot inspect $DATA/live/v2_buffers.snap | grep '^  buffer'
    buffer           a, cuda-managed, 6 bytes
    buffer           b, host, 8 bytes

verify only says that it is what it should be:

  $ cp $DATA/archive/v1_pages3_sealed_hmac.snap sealed.snap
  $ tensor-wasm snapshot verify --hmac-key-file hmac --aead-key-file aead --require-signature sealed.snap
  sealed.snap: verified: archive, signed with HMAC-SHA256, encrypted
  $ cp $DATA/craton/good/v3_ed25519_conformance.snap ed.snap
  $ tensor-wasm snapshot verify --json --ed25519-public-key-file=ed --max-age 999999h --max-bytes 12885 ed.snap
  {
    "file": "ed.snap",
    "format": "v3",
    "version": 3,
    "signature": "Ed25519",
    "encrypted": false,
    "verified": true
  }

A refusal exits with 1 and has a class:

  $ tensor-wasm snapshot verify ed.snap
  ! tensor-wasm: ed.snap: it is signed with Ed25519, and the reader has no public key (nokey)
  [1]
  $ tensor-wasm snapshot inspect --json --ed25519-public-key-file ed --min-sequence 1 ed.snap
  {
    "error": {
      "class": "replay",
      "message": "its sequence number is 0; the reader takes none below 1"
    }
  }
  [1]
  $ head -c 100 ed.snap > cut.snap; tensor-wasm snapshot verify cut.snap
  ! tensor-wasm: cut.snap: the zstd frame is cut off after 100 bytes (format)
  [1]
  $ printf '\000asm\001\000\000\000' > guest.wasm; tensor-wasm snapshot verify guest.wasm
  ! tensor-wasm: guest.wasm: it begins as no snapshot file does: it is a WebAssembly module (format)
  [1]
  $ echo hello > note.txt; tensor-wasm snapshot verify note.txt
  ! tensor-wasm: note.txt: it begins as no snapshot file does (format)
  [1]
  $ cp $DATA/craton/odd/v2_payload_trailing.snap odd.snap; tensor-wasm snapshot verify odd.snap
  ! tensor-wasm: odd.snap: 4 bytes follow the payload inside its frame (trailing)
  [1]
  $ tensor-wasm snapshot verify --lenient odd.snap
  odd.snap: verified: v2, not signed

Every case of the golden files, as the command line gives it:

  $ cat > cases.py <<'END'
  > import json, os, subprocess, sys
  > folder, wrong, count = os.environ["DATA"] + "/craton/", 0, 0
  > words = {"none": [], "req": ["--require-signature"], "hmac": ["--hmac-key-file=hmac"], "hmac2": ["--hmac-key-file=hmac2"],
  >          "ed": ["--ed25519-public-key-file=ed"], "ed2": ["--ed25519-public-key-file=ed2"], "aead": ["--aead-key-file=aead"],
  >          "aead2": ["--aead-key-file=hmac2"], "age1s": ["--max-age=1s"], "nonce": ["--expect-nonce=000102030405060708090A0B0c0d0e0f"],
  >          "nonceff": ["--expect-nonce=" + "ff" * 16]}
  > for line in open(folder + "cases.tsv").read().splitlines()[int(sys.argv[1])::3]:
  >     file, reader, expect, refusal = line.split("\t")[:4]
  >     options = []
  >     for word in reader.split("+"):
  >         options += (["--max-bytes=" + word[3:]] if word.startswith("cap") else
  >                     ["--min-sequence=" + word[3:]] if word.startswith("seq") else words[word])
  >     done = subprocess.run(["tensor-wasm", "snapshot", "verify", "--json", "--lenient", *options, folder + file],
  >                           capture_output=True)
  >     got = json.loads(done.stdout)
  >     good = (done.returncode == 0 and got["verified"]) if expect == "accept" else (
  >         done.returncode == 1 and list(got) == ["error"] and got["error"]["class"] in refusal.split(" or ") and got["error"]["message"])
  >     count += 1
  >     if not good:
  >         wrong += 1
  >         print(line, got)
  > print(count, "cases,", wrong, "wrong")
  > END
  $ echo 22fc297792f0b6ffc0bfcfdb7edb0c0aa14e025a365ec0e342e86e3829cb74b6 > ed2; chmod 600 ed2; python3 cases.py 1
  48 cases, 0 wrong
  $ python3 cases.py 2
  48 cases, 0 wrong
  $ python3 cases.py 3
  47 cases, 0 wrong

Keys must be closed to others, and aren't shown:

  $ cp hmac open; chmod 644 open; tensor-wasm snapshot verify --hmac-key-file open ed.snap
  ! tensor-wasm: ed.snap: the key file open is open to others (mode 0644): chmod 600 it (untrusted)
  [1]
  $ ln -s hmac link; tensor-wasm snapshot verify --hmac-key-file link ed.snap
  ! tensor-wasm: ed.snap: the key file link is a link (untrusted)
  [1]
  $ (umask 077; echo secret > short); tensor-wasm snapshot verify --json --aead-key-file short ed.snap
  {
    "error": {
      "class": "malformed",
      "message": "the key file short has neither 32 bytes nor 64 hexadecimal digits"
    }
  }
  [1]
  $ tensor-wasm snapshot verify --hmac-key-file missing ed.snap
  ! tensor-wasm: ed.snap: the key file missing can't be opened: No such file or directory (not-found)
  [1]

Files that can't be read, and command lines that can't be meant:

  $ tensor-wasm snapshot inspect missing.snap
  ! tensor-wasm: missing.snap: can't be opened: No such file or directory (not-found)
  [1]
  $ mkdir folder; tensor-wasm snapshot inspect folder
  ! tensor-wasm: folder: is a folder; name a snapshot file (io)
  [1]
  $ tensor-wasm snapshot ed.snap
  ! tensor-wasm: no command 'snapshot ed.snap'
  ! See 'tensor-wasm snapshot --help'.
  [2]
  $ tensor-wasm snapshot verfy ed.snap
  ! tensor-wasm: no command 'snapshot verfy'; did you mean 'snapshot verify'?
  ! See 'tensor-wasm snapshot --help'.
  [2]
  $ tensor-wasm snapshot verify --expect-nonce 0g ed.snap
  ! tensor-wasm: --expect-nonce: '0g' is not 32 hexadecimal digits
  ! See 'tensor-wasm snapshot verify --help'.
  [2]
  $ tensor-wasm snapshot verify --min-sequence=-1 ed.snap
  ! tensor-wasm: --min-sequence: '-1' is not a number, like 4
  ! See 'tensor-wasm snapshot verify --help'.
  [2]
  $ tensor-wasm snapshot verify --min-sequence=18446744073709551616 ed.snap 2>&1 | head -1
  tensor-wasm: --min-sequence: '18446744073709551616' is not a number, like 4
  $ truncate -s 3G large.snap; tensor-wasm snapshot verify large.snap
  ! tensor-wasm: large.snap: is larger than 1024 MiB, the most that a snapshot may have (limit)
  [1]
  $ tensor-wasm snapshot verify --max-bytes 2GiB large.snap
  ! tensor-wasm: large.snap: is larger than 2080 MiB, the most that a snapshot may have (limit)
  [1]
  $ tensor-wasm snapshot verify --ed25519-public-key-file ed --min-sequence=18446744073709551615 ed.snap
  ! tensor-wasm: ed.snap: its sequence number is 0; the reader takes none below 18446744073709551615 (replay)
  [1]

Converting keeps the state, and says what the new file lacks:

  $ printf '%02x' $(seq 64 95) > seed; chmod 600 seed
  $ cp $DATA/craton/good/v2_seq7_nonce.snap in.snap
  $ tensor-wasm snapshot convert --sign-hmac-key-file hmac --encrypt-key-file aead in.snap own.snap
  own.snap: archive, from in.snap, v2
  $ tensor-wasm snapshot convert --hmac-key-file hmac --aead-key-file aead --to v3 --sign-hmac-key-file hmac own.snap v3.snap
  v3.snap: v3, from own.snap, archive, without its encryption
  $ tensor-wasm snapshot convert --hmac-key-file hmac --to v4 --sign-hmac-key-file hmac2 v3.snap v4.snap
  v4.snap: v4, from v3.snap, v3
  $ tensor-wasm snapshot convert --hmac-key-file hmac2 --to v2 v4.snap out.snap
  out.snap: v2, from v4.snap, v4, without its signature
  $ tensor-wasm snapshot inspect in.snap > a; tensor-wasm snapshot inspect out.snap | sed s/out/in/ > b; cmp a b
  $ tensor-wasm snapshot convert --json --to v2 in.snap out.snap
  {
    "file": "out.snap",
    "format": "v2",
    "from": "in.snap",
    "lost": null
  }
  $ tensor-wasm snapshot convert --to v4 in.snap no.snap
  ! tensor-wasm: no.snap: v4 needs an HMAC key and takes no other (invalid-argument)
  [1]
  $ ls no.snap 2>/dev/null
  [2]
  $ tensor-wasm snapshot convert in.snap
  ! tensor-wasm: nothing to work on: usage is 'tensor-wasm snapshot convert [options] FILE TO'
  ! See 'tensor-wasm snapshot convert --help'.
  [2]
  $ tensor-wasm snapshot convert in.snap -
  ! tensor-wasm: it writes a file, not stdout
  ! See 'tensor-wasm snapshot convert --help'.
  [2]
