package engine

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	for _, tc := range []struct{ name, log, want string }{
		{"no trace", "one\ntwo\n\nthree\n  four", "two|three|  four"},
		{"no log any more", `failed to try resolving symlinks in path "/var/log/pods/a_b_c/web/0.log": ` +
			`lstat /var/log/pods/a_b_c/web/0.log: no such file or directory`, ""},
		{"no container any more", "starting\nunable to retrieve container logs for containerd://8eed255c",
			"starting"},
		{"panic of Go", `starting
panic: cannot open /data/db

goroutine 1 [running]:
main.open(...)
	/src/main.go:84
main.main()
	/src/main.go:20 +0x1d
exit status 2`, "starting|panic: cannot open /data/db"},
		{"two panics of Go", `panic: first [recovered]
	panic: second
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]

goroutine 7 gp=0xc000002380 m=0 mp=0x5a [running]:
main.main()
	/src/main.go:20 +0x1d

goroutine 8 [chan receive, 2 minutes]:
main.wait()
	/src/main.go:30 +0x1d`, "panic: first [recovered]|	panic: second"},
		{"deadlock of Go", `fatal error: all goroutines are asleep - deadlock!

goroutine 1 [select (no cases)]:
main.main()
	/src/main.go:4 +0xf`, "fatal error: all goroutines are asleep - deadlock!"},
		{"Python", `INFO starting
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    connect()

    ~~~~~~~^^
ConnectionRefusedError: [Errno 111] Connection refused

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/main.py", line 5, in <module>
RuntimeError: no database`, "ConnectionRefusedError: [Errno 111] Connection refused|" +
			"During handling of the above exception, another exception occurred:|" +
			"RuntimeError: no database"},
		{"Java", `Exception in thread "main" java.lang.IllegalStateException: no database
	at Main.main(Main.java:5)
Caused by: java.net.ConnectException: Connection refused
	at java.base/sun.nio.ch.Net.connect0(Native Method)
	... 3 more`, `Exception in thread "main" java.lang.IllegalStateException: no database|` +
			"Caused by: java.net.ConnectException: Connection refused"},
		{"Node.js", `/app/index.js:3
throw new Error("no database")
^

Error: no database
    at Object.<anonymous> (/app/index.js:3:7)
    at Module._compile (node:internal/modules/cjs/loader:1376:14)

Node.js v20.11.0`, `throw new Error("no database")|^|Error: no database`},
		{".NET", `Unhandled exception. System.InvalidOperationException: no database
   at Program.<Main>$(String[] args) in /src/Program.cs:line 1`,
			"Unhandled exception. System.InvalidOperationException: no database"},
		{"Ruby", "main.rb:1:in `open': no database (RuntimeError)\n\tfrom main.rb:4:in `<main>'",
			"main.rb:1:in `open': no database (RuntimeError)"},
		{"Rust", `thread 'main' panicked at src/main.rs:2:5:
no database
stack backtrace:
   0: rust_begin_unwind
             at /rustc/1/library/std/src/panicking.rs:645:5
note: run with ` + "`RUST_BACKTRACE=full`" + ` for a verbose backtrace.`,
			"thread 'main' panicked at src/main.rs:2:5:|no database"},
		{"nothing but a trace", "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:4 +0xf",
			"goroutine 1 [running]:|main.main()|	/src/main.go:4 +0xf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(excerpt(strings.Split(tc.log, "\n"), 3), "|")
			if got != tc.want {
				t.Errorf("excerpt = %s, want %s", got, tc.want)
			}
		})
	}
}
