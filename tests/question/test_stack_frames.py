from __future__ import annotations

import time

import pytest

from carrel.question.stack_frames import MOST_FRAMES, stack_frames

TRACES = {
    "Python, chained": (
        """Traceback (most recent call last):
  File "/srv/app/db.py", line 31, in connect
    return self.pool.acquire()
  File "<frozen importlib._bootstrap>", line 241, in _call_with_frames_removed
KeyError: 'primary'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "manage.py", line 22, in <module>
    main()
  File "C:\\work\\cli.py", line 9, in main
RuntimeError: no database
""",
        [("/srv/app/db.py", 31, "connect"), ("manage.py", 22, ""), ("C:/work/cli.py", 9, "main")],
    ),
    "Python, a group": (
        '  + Exception Group Traceback (most recent call last):\n  |   File "/srv/tasks.py", line 44, in run_all\n',
        [("/srv/tasks.py", 44, "run_all")],
    ),
    "Node": (
        """TypeError: Cannot read properties of undefined (reading 'id')
    at UserStore.findById [as find] (/srv/app/src/users.js:48:17)
    at Array.map (<anonymous>)
    at new Session (/srv/app/src/session.ts:12:5)
    at async handle (file:///srv/app/server.mjs:8:3)
    at Object.<anonymous> (/srv/app/index.js:3:1)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at /srv/app/loop.js:99:7 {
  [cause]: Error: inner
      at open (/srv/app/src/file.js:2:1)
""",
        [
            ("/srv/app/index.js", 3, ""),
            ("srv/app/server.mjs", 8, "handle"),
            ("/srv/app/src/session.ts", 12, "Session"),
            ("/srv/app/src/users.js", 48, "findById"),
            ("/srv/app/src/file.js", 2, "open"),
        ],
    ),
    "PowerShell": (
        """Exception: /srv/shop/src/Orders.ps1:597
Line |
 597 |          throw "no order"
at Get-Order, /srv/shop/src/Orders.ps1: line 597
at <ScriptBlock>, C:\\shop\\run.ps1: line 3
At C:\\shop\\old.ps1:12 char:5
""",
        [
            ("/srv/shop/src/Orders.ps1", 597, ""),
            ("C:/shop/old.ps1", 12, ""),
            ("C:/shop/run.ps1", 3, ""),
            ("/srv/shop/src/Orders.ps1", 597, "Get-Order"),
        ],
    ),
    "Chrome": (
        """Error: boom
    at renderCart (https://shop.example/static/js/cart.js:10:15)
    at App (webpack-internal:///(app-pages)/./src/App.tsx:22:11)
    at f (http://localhost:3000/src/main.tsx?t=123:5:11)
    at https://shop.example/static/js/app.js:5:1
""",
        [
            ("static/js/app.js", 5, ""),
            ("src/main.tsx", 5, "f"),
            ("src/App.tsx", 22, "App"),
            ("static/js/cart.js", 10, "renderCart"),
        ],
    ),
    "Firefox": (
        "renderCart@https://shop.example/static/cart.js:10:15\n@https://shop.example/static/app.js:5:1\n",
        [("static/app.js", 5, ""), ("static/cart.js", 10, "renderCart")],
    ),
    "Java": (
        """Exception in thread "main" java.lang.IllegalStateException: pool is closed
\tat com.acme.db.Pool.acquire(Pool.java:88)
\tat com.acme.App.<init>(App.java:14)
\tat com.acme.App.lambda$main$0(App.java:20)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\tat com.acme.Native.read(Native Method)
Caused by: java.io.IOException: closed
\tat com.acme.io.File.read(File.java:3)
\t... 3 more
""",
        [
            ("java/lang/Thread.java", 840, "run"),
            ("com/acme/App.java", 20, "main"),
            ("com/acme/App.java", 14, "App"),
            ("com/acme/db/Pool.java", 88, "acquire"),
            ("com/acme/io/File.java", 3, "read"),
        ],
    ),
    "Kotlin": (
        "\tat com.acme.CartKt.total(Cart.kt:12)\n\tat com.acme.Cart$add$1.invokeSuspend(Cart.kt:31)\n",
        [("com/acme/Cart.kt", 31, "add"), ("com/acme/Cart.kt", 12, "total")],
    ),
    "C#": (
        """System.NullReferenceException: Object reference not set
   at Acme.Shop.Cart.Total[T](List`1 items) in C:\\src\\Shop\\Cart.cs:line 42
   at Acme.Shop.Cart.<AddAsync>d__3.MoveNext() in /src/Shop/Cart.cs:line 57
   at System.Threading.Tasks.Task.Run()
   at Acme.Shop.Cart..ctor(String name) in /src/Shop/Cart.cs:line 9
""",
        [("/src/Shop/Cart.cs", 9, "Cart"), ("/src/Shop/Cart.cs", 57, "AddAsync"), ("C:/src/Shop/Cart.cs", 42, "Total")],
    ),
    "Ruby": (
        """app/models/order.rb:12:in `total': undefined method `price' for nil (NoMethodError)
\tfrom app/models/order.rb:30:in `block (2 levels) in checkout'
\tfrom app/models/order.rb:31:in 'Order#paid?'
\tfrom bin/shop.rb:5:in `<main>'
""",
        [
            ("bin/shop.rb", 5, ""),
            ("app/models/order.rb", 31, "paid?"),
            ("app/models/order.rb", 30, "checkout"),
            ("app/models/order.rb", 12, "total"),
        ],
    ),
    "Ruby 2.5, on a terminal": (
        "Traceback (most recent call last):\n\t1: from bin/shop.rb:5:in `<main>'\nlib/a.rb:2:in `b': x (RuntimeError)\n",
        [("bin/shop.rb", 5, ""), ("lib/a.rb", 2, "b")],
    ),
    "PHP": (
        """PHP Fatal error:  Uncaught Exception: no cart in /srv/app/src/Cart.php:12
Stack trace:
#0 /srv/app/src/Shop.php(30): Acme\\Cart->total(Array)
#1 /srv/app/index.php(9): Acme\\Shop::open('x')
#2 {main}
  thrown in /srv/app/src/Cart.php on line 12
""",
        [("/srv/app/index.php", 9, "open"), ("/srv/app/src/Shop.php", 30, "total"), ("/srv/app/src/Cart.php", 12, "")],
    ),
    "Go": (
        """panic: runtime error: invalid memory address or nil pointer dereference
goroutine 1 [running]:
main.(*Server).handle.func1(0xc000010000, {0x1, 0x2})
\t/home/me/app/server.go:58 +0x1d
main.main()
\t/home/me/app/main.go:12 +0x85
""",
        [("/home/me/app/main.go", 12, "main"), ("/home/me/app/server.go", 58, "handle")],
    ),
    "Rust": (
        """thread 'main' panicked at src/cart.rs:14:9:
index out of bounds: the len is 0 but the index is 3
stack backtrace:
   1: <shop::Cart as shop::Total>::total::{{closure}}::h0123456789abcdef
             at ./src/cart.rs:14:9
   2: shop::main
             at ./src/main.rs:5:5
""",
        [("src/cart.rs", 14, ""), ("src/main.rs", 5, "main"), ("src/cart.rs", 14, "total")],
    ),
    "pytest": (
        "tests/test_cart.py:12: \n_ _ _\nsrc/cart.py:33: in total\n    return price(item)\nsrc/price.py:3: KeyError\n",
        [("tests/test_cart.py", 12, ""), ("src/cart.py", 33, "total"), ("src/price.py", 3, "")],
    ),
    "compilers": (
        """src/main.c:10:5: error: expected ';' before '}' token
error[E0382]: borrow of moved value
  --> src/main.rs:4:20
src/app.ts(12,5): error TS2322: Type 'string' is not assignable
src\\core.cpp(103): error C2065: undeclared identifier
""",
        [("src/main.c", 10, ""), ("src/main.rs", 4, ""), ("src/app.ts", 12, ""), ("src/core.cpp", 103, "")],
    ),
    "Lua": (
        """lua: app/burrow.lua:3: attempt to index a nil value (local 'tool')
stack traceback:
\tapp/burrow.lua:3: in function 'dig'
\tapp/main.lua:9: in local 'start'
\tapp/main.lua:12: in main chunk
\t[C]: in ?
""",
        [("app/main.lua", 12, ""), ("app/main.lua", 9, "start"), ("app/burrow.lua", 3, "dig")],
    ),
    "Zig": (
        """thread 7 panic: index out of bounds
/srv/src/burrow.zig:41:17: 0x22dd03 in dig (main)
    return tools[index];
/srv/src/main.zig:9:8: 0x22cc4e in main (main)
""",
        [("/srv/src/main.zig", 9, "main"), ("/srv/src/burrow.zig", 41, "dig")],
    ),
    "Nim": (
        """Traceback (most recent call last)
/srv/src/main.nim(12) main
/srv/src/burrow.nim(42) dig
Error: unhandled exception: index 7 not in 0 .. 2 [IndexDefect]
""",
        [("/srv/src/main.nim", 12, "main"), ("/srv/src/burrow.nim", 42, "dig")],
    ),
    "a shell": ("./bin/deploy.sh: line 103: stop_all: command not found\n", [("bin/deploy.sh", 103, "")]),
}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("line_end", ["\n", "\n\n"])
def test_frames_end_with_the_innermost(name: str, line_end: str) -> None:
    text, expected = TRACES[name]
    text = f"It fails since version 2.1.0:{line_end}{text}{line_end}Any idea?"
    assert [(frame.path, frame.line, frame.function) for frame in stack_frames(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Why does this fail?",
        "Version 1.2.3, at 10:30:00 today: 12 errors",
        "See https://example.org:8080/path and mail me@example.org",
        "key.value: 12\nother.key: {a: 1}",
        "It happens at startup (see main.py) in line 12",
    ],
)
def test_texts_without_a_trace_have_none(text: str) -> None:
    assert stack_frames(text) == []


def test_of_many_frames_the_innermost_are_kept() -> None:
    lines = [f'  File "a.py", line {n}, in f' for n in range(1, MOST_FRAMES + 51)]
    assert [frame.line for frame in stack_frames("\n".join(lines))] == list(range(51, MOST_FRAMES + 51))
    lines = [f"    at f (/a.js:{n}:1)" for n in range(1, MOST_FRAMES + 51)]
    assert [frame.line for frame in stack_frames("\n".join(lines))] == list(range(MOST_FRAMES, 0, -1))


HOSTILE = {
    text[:12]: (text * (200_000 // len(text) + 1))[:200_000]
    for text in (
        *(
            "x",
            " ",
            "\t",
            "\n",
            ".",
            "a.b",
            "a.b:1",
            "a.py:1:\n",
            "at ",
            "    at a",
            "at a (",
            "at a.b.c(",
            "a@",
            "a@/",
            "in a.php ",
        ),
        *('File "', '  File "a.py", line 1, in f\n', "    at f (/a.js:1:1)\n", "\tat a.B.c(D.java:1)\n", "#1 a.php(1): a\n"),
        *(
            "1: from a.rb",
            "at <",
            "at [[[",
            "(((((",
            "panicked at '",
            "x.y(z)\n\ta.go:1",
            "created by ",
            "block in ",
            "::{{closure}}",
        ),
        *("9" * 100, "a.py:" + "9" * 50 + "\n", "http://a/", "at http://", "C:", "\\", "--> a.rs:1:1\n", "a.ts(1,1): error\n"),
    )
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str) -> None:
    assert min(seconds_for(HOSTILE[name]) for _ in range(3)) < 1.0, "the best of three, since other work slows one down"


def seconds_for(text: str) -> float:
    began = time.process_time()
    stack_frames(text)
    return time.process_time() - began
