The set-up looks, says what is missing, and installs only as root.

A machine that lacks a package, and a user who isn't root, played by programs in front of the real ones. $GUESTS is the
folder of this file.

  $ mkdir bin; cat > bin/dpkg-query <<'END'
  > #!/bin/sh
  > case $* in *wabt*) exit 1 ;; *) printf installed ;; esac
  > END
  > printf '#!/bin/sh\necho ${FAKE_ID:-1000}\n' > bin/id
  > printf '#!/bin/sh\necho "apt-get $*"\n' > bin/apt-get
  > chmod +x bin/*
  $ PATH=$PWD/bin:$PATH sh $GUESTS/../../scripts/deps.sh
  ! These packages are missing. Install them and run make again:
  !   sudo apt-get install -y --no-install-recommends wabt( rustc-web cargo-web)? (re)
  [1]
  $ FAKE_ID=0 PATH=$PWD/bin:$PATH sh $GUESTS/../../scripts/deps.sh
  deps: installing wabt( rustc-web cargo-web)? (re)
  apt-get update -q
  apt-get install -q -y --no-install-recommends wabt( rustc-web cargo-web)? (re)

What only some tests want is installed if it can be, and is no reason to stop:

  $ cat > bin/dpkg-query <<'END'
  > #!/bin/sh
  > case $* in *pocl*) exit 1 ;; *) printf installed ;; esac
  > END
  $ TW_ENGINE_DIR=x PATH=$PWD/bin:$PATH sh $GUESTS/../../scripts/deps.sh
  deps: some tests are skipped without pocl-opencl-icd
  $ TW_ENGINE_DIR=x FAKE_ID=0 PATH=$PWD/bin:$PATH sh $GUESTS/../../scripts/deps.sh
  deps: installing for tests pocl-opencl-icd
  apt-get update -q
  apt-get install -q -y --no-install-recommends pocl-opencl-icd
  $ printf '#!/bin/sh\nexit 100\n' > bin/apt-get
  $ TW_ENGINE_DIR=x FAKE_ID=0 PATH=$PWD/bin:$PATH sh $GUESTS/../../scripts/deps.sh
  deps: installing for tests pocl-opencl-icd
  deps: some tests are skipped without pocl-opencl-icd

Nothing missing, nothing said:

  $ printf '#!/bin/sh\nprintf installed\n' > bin/dpkg-query
  $ PATH=$PWD/bin:$PATH sh $GUESTS/../../scripts/deps.sh

rustup's compiler is taken where it is new enough, else the PATH's, else none:

  $ fake() {
  >   mkdir -p $1; printf '#!/bin/sh\necho "rustc %s (x)"\n' $2 > $1/rustc; printf '#!/bin/sh\n' > $1/cargo; chmod +x $1/*
  > }
  > fake .cargo/bin 1.95.0; fake other 1.99.1
  > PATH=$PWD/other:$PATH sh $GUESTS/../../scripts/rust.sh | sed "s|$PWD|HERE|"
  > fake .cargo/bin 1.94.9
  > PATH=$PWD/other:$PATH sh $GUESTS/../../scripts/rust.sh | sed "s|$PWD|HERE|"
  > fake .cargo/bin 2.0.0
  > PATH=$PWD/other:$PATH sh $GUESTS/../../scripts/rust.sh | sed "s|$PWD|HERE|"
  HERE/.cargo/bin
  HERE/other
  HERE/.cargo/bin

A ready-made engine is used as it is, or refused:

  $ mkdir -p engine/include; touch engine/libtw_engine.a
  $ TW_ENGINE_DIR=engine sh $GUESTS/../../scripts/engine.sh
  engine
  $ rm engine/libtw_engine.a; TW_ENGINE_DIR=engine sh $GUESTS/../../scripts/engine.sh
  ! engine: TW_ENGINE_DIR=engine lacks libtw_engine.a or include/
  [1]
