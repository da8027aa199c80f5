//! Tests of what a file defines, and which piece of it does.

use super::{SMALL, assert_lawful, chunks_of, outline};
use crate::base::language::Language;
use crate::index::cut::CutOptions;

#[test]
fn a_short_class_is_one_chunk_that_defines_its_members() {
    let text =
        "class Session:\n    '''Keeps a user's login between two requests.'''\n\n    def renew(self):\n        return self\n";
    let file = chunks_of(Language::PYTHON, text, &CutOptions::default());
    assert_eq!(outline(&file), "Class Session 1-5\n");
    assert_eq!(file.chunks[0].definitions, ["Session", "renew"]);
    assert_eq!(file.chunks[0].signature, "class Session:");
}

#[test]
fn names_of_types_are_defined_behind_macros_in_classes_and_in_attributes() {
    let texts = [
        (
            Language::CPP,
            "LIB_BEGIN\nnamespace detail\n{\ntemplate<class T>\nusing size_of = typename T::size;\nclass Big\n{\n  using inner = int;\n  void go() {}\n};\n}\nLIB_END\n",
            "size_of Big inner go",
        ),
        (
            Language::ELIXIR,
            "defmodule A do\n  @typedoc \"a\"\n  @type conn(x) :: x\n  @spec f(conn) :: conn\n  def f(a), do: a\n  @callback late(a) :: b\nend\n",
            "A conn f late",
        ),
        (Language::ELIXIR, "defmodule Shop.Basket do\n  def f(a), do: a\nend\n", "Basket f"),
        (Language::KOTLIN, "package a\n\n@Dsl\nannotation class Shop\n\n@Dsl(A.B)\nannotation class Basket\n", "Shop Basket"),
        (Language::ELM, "module Shop exposing (sum)\n\nsum :\n    { a : Int }\n    -> Int\nsum { a } =\n    a\n", "sum"),
        (
            Language::GRAMMAR,
            "Rootsymbol Shop.\nShop -> Basket : '$1'.\nShop -> Basket Shop : '$1'.\nErlang code.\nvalue({_, Value}) -> Value.\n",
            "Shop value",
        ),
        (Language::RUST, "trait A {\n    type Item;\n    fn next(&self) -> Self::Item;\n}\n", "A Item next"),
    ];
    for (language, text, expected) in texts {
        for options in [&SMALL, &CutOptions::default()] {
            let file = chunks_of(language, text, options);
            let defined: Vec<&str> = file.chunks.iter().flat_map(|chunk| chunk.definitions.iter().map(String::as_str)).collect();
            assert_eq!(defined.join(" "), expected, "{}", outline(&file));
        }
    }
}

#[test]
fn functions_and_types_within_functions_are_defined_where_they_stand() {
    let filler = "    x = x + 1\n".repeat(8);
    let text = format!(
        "def outer(x):\n    def first(y):\n        class Deep:\n            def method(self): pass\n        return Deep\n{filler}    if x:\n        @cached\n        def last(y): return y\n    return last\n"
    );
    let file = chunks_of(Language::PYTHON, &text, &CutOptions::default());
    assert_eq!(file.chunks[0].definitions, ["outer", "first", "Deep", "method", "last"]);
    let file = chunks_of(Language::PYTHON, &text, &CutOptions { max_chars: 160, ..SMALL });
    let with = |name: &str| file.chunks.iter().position(|chunk| chunk.definitions.iter().any(|own| own == name));
    assert_eq!((with("outer"), with("first"), with("last")), (Some(0), Some(0), Some(file.chunks.len() - 1)));
    assert!(file.chunks.len() > 1);
}

#[test]
fn names_within_closures_blocks_and_tables_are_defined() {
    let texts = [
        ("javascript", "const outer = (x) => {\n  function inner(y) { return y }\n  return inner(x)\n}\n", "outer inner"),
        (
            "javascript",
            "(function (root, factory) {\n  root.Shop = factory();\n})(this, function () {\n  var price, empty = function () {};\n  on(price, function sold() {});\n  return { close: function () {}, open() {} };\n});\n",
            "empty sold close open",
        ),
        (
            "typescript",
            "describe('shop', () => {\n  const make = () => 1;\n  it('sells', () => {\n    class Till { ring() {} }\n  });\n});\n",
            "make Till ring",
        ),
        (
            "typescript",
            "export default defineComponent({\n  methods: {\n    empty() { this.lines = [] },\n    total: () => 1,\n  },\n})\n",
            "default methods empty total",
        ),
        ("typescript", "export interface Store {\n  get(): number\n  listen(to: () => void): void\n}\n", "Store get listen"),
        (
            "ruby",
            "module Shop\n  module Types\n    class Basket\n      def total\n        1\n      end\n    end\n  end\nend\n",
            "Shop Types Basket total",
        ),
        ("c", "enum verdict {\n  PASS,\n  FAIL = 1 << 2\n};\n", "verdict PASS FAIL"),
        ("javascript", "Shop.prototype = {\n  close: function () {}\n};\n", "Shop close"),
        ("lua", "return {\n  open = function()\n    local lock = function() end\n  end,\n}\n", "open lock"),
        ("kotlin", "val timer = object : Timer() {\n  override fun run() {}\n}\n", "timer run"),
        ("ruby", "describe 'x' do\n  def price\n    1\n  end\nend\n", "price"),
        (
            "elixir",
            "defmodule A do\n  defmacro make(x) do\n    quote do\n      def made(y), do: y\n    end\n  end\nend\n",
            "A make made",
        ),
        ("r", "outer <- function(x) {\n  inner <- function(y) {\n    y\n  }\n  inner(x)\n}\n", "outer inner"),
        ("ocaml", "class shop = object\n  method private total x = x\nend\n", "shop total"),
        ("haskell", "fold' :: a -> a\nfold' x = x\n", "fold'"),
        ("haskell", "data Shop = Shop { size, depth :: Int }\nopen s = s { size = 1 }\n", "Shop open size depth"),
        ("haskell", "parse :: Value -> Maybe Text -> Text\nparse v t = v\n", "parse"),
        ("rust", "static SHOP: Settings = Settings { open: true };\nconst LEAST: money::Price = money::NONE;\n", "SHOP LEAST"),
        ("swift", "let shared: Manager = Manager()\n", "shared"),
        (
            "c-sharp",
            "class Shop {\n  public const int LEAST = 3;\n  int size;\n  public int Price { get; set; }\n  void Go() { }\n  public event Action Sold;\n}\n",
            "Shop LEAST Price Go Sold",
        ),
        ("java", "class Shop {\n  static final int LEAST = 3;\n  int size;\n  enum Day { FIRST }\n}\n", "Shop LEAST Day"),
        ("ruby", "class Shop\n  LEAST = 3\n  def open\n    size = 4\n  end\nend\n", "Shop LEAST open"),
        (
            "php",
            "<?php\nclass Shop {\n  const LEAST = 3;\n  private $size = 1;\n}\nenum Day { case First; }\n",
            "Shop Day LEAST First",
        ),
        ("perl", "use constant LEAST => 3;\nsub new {\n  my $x = shift;\n  if ($x) {\n  }\n}\n", "LEAST new"),
        (
            "r",
            "Shop <- R6::R6Class(\"Shop\",\n  public = list(\n    open = function() {\n    }\n  )\n)\nsetClass(\"Till\", slots = c(x = 1))\nsetGeneric(\"ring\", function(of) standardGeneric(\"ring\"))\n",
            "Shop open Till ring",
        ),
        (
            "nim",
            "type\n  Shop*[T] = ref object of RootObj\n    size: int\n  Kind = enum\n    a, b\nproc open*(s: Shop) =\n  discard\n",
            "Shop Kind open",
        ),
        (
            "nim",
            "const\n  # About.\n  Size* = max(1,\n    2)\n  a, b = 2\nwhen open:\n  type Alias = int\n  let local = 1\nvar shared* {.threadvar.}: int\nproc open() =\n  let\n    inner = 1\n",
            "Size a Alias shared open b",
        ),
        (
            "perl",
            "use constant {\n  ALL => [1, 2], LEAST => 3,\n  MOST => {\n    no => 1,\n  },\n};\nuse constant {'ONE' => 1, TWO => f(no => 2)};\n",
            "ALL MOST ONE LEAST TWO",
        ),
        (
            "powershell",
            "<#\n  The class Till.\n#>\nclass Shop {\n  [string] $Name\n  Shop([string] $name) : base($name)\n  {\n    if ($name) {\n    }\n  }\n  [int] Total(\n    [int] $x\n  )\n  {\n    return 1\n  }\n}\n",
            "Shop Total",
        ),
        (
            "powershell",
            "class Shop {\n  [string] $Name\n  static [int[]] Total([int] $x) {\n    return 1\n  }\n}\n",
            "Shop Total",
        ),
        (
            "dart",
            "class Shop {\n  int get total => 1;\n  set size(int to) {}\n  bool get open {\n    return true;\n  }\n}\n",
            "Shop total size open",
        ),
        (
            "assembly",
            "%macro push_all 0\n  push rax\n%endmacro\nsold PROC\n  ret\nsold ENDP\nmain:\n  ret\n",
            "push_all sold main",
        ),
        ("julia", "@inline Base.zero(x::Bits) where T = 1\n", "zero"),
    ];
    for (language, text, expected) in texts {
        let file = chunks_of(Language::from_name(language).unwrap(), text, &CutOptions::default());
        let defined: Vec<&str> = file.chunks.iter().flat_map(|chunk| chunk.definitions.iter().map(String::as_str)).collect();
        assert_eq!(defined.join(" "), expected, "{language} {}", outline(&file));
    }
}

#[test]
fn a_wrapper_that_is_too_long_for_a_chunk_is_cut_by_what_it_holds() {
    let function = |name: &str| format!("  function {name}() {{\n{}  }}\n", "    take('a line that fills it');\n".repeat(30));
    let text = format!("var Shop = (function () {{\n{}{}  return {{}};\n}})();\n", function("open"), function("close"));
    let options = CutOptions { max_chars: 1_500, ..CutOptions::default() };
    let file = chunks_of(Language::JAVASCRIPT, &text, &options);
    assert_lawful(&file, &text, &options);
    let symbols: Vec<&str> = file.chunks.iter().map(|chunk| chunk.symbol.as_str()).collect();
    assert_eq!(symbols, ["open", "close"]);
    assert_eq!(file.chunks[0].definitions, ["Shop", "open"], "its first line is too short to stand alone");
}

#[test]
fn a_class_is_defined_by_its_head_and_not_where_its_constructor_is_declared() {
    let text = "class Shop {\npublic:\n  int total() {\n    return 1;\n  }\nprivate:\n  Shop(const Shop&);\n  int count();\n};\n";
    let file = chunks_of(Language::CPP, text, &SMALL);
    let defined: Vec<Vec<String>> = file.chunks.iter().map(|chunk| chunk.definitions.clone()).collect();
    assert_eq!(defined, [vec!["Shop"], vec!["total"], vec!["count"]], "{}", outline(&file));
}

#[test]
fn of_a_long_comment_and_a_declaration_the_part_with_the_declaration_defines_it() {
    let texts = [
        (Language::RUST, "pub struct Basket {\n    price: money::Price,\n}\n", "struct Basket"),
        (Language::RUST, "pub fn basket(\n    of: &Shop,\n) -> Basket {\n    of.basket()\n}\n", "fn basket"),
        (Language::JAVA, "class Basket\n  extends Base {\n  int total;\n}\n", "class Basket"),
        (Language::CSHARP, "[Serializable]\npublic class Basket\n{\n  int total;\n}\n", "class Basket"),
    ];
    let options = CutOptions { max_chars: 1_500, ..CutOptions::default() };
    for (language, declared, head) in texts {
        let text = format!("{}{declared}", "/// Goods of a shop: a basket, the Basket.\n".repeat(200));
        let file = chunks_of(language, &text, &options);
        let is_named = |name: &String| name.eq_ignore_ascii_case("basket");
        let defining: Vec<_> = file.chunks.iter().filter(|chunk| chunk.definitions.iter().any(is_named)).collect();
        assert_eq!(defining.len(), 1, "{declared} {}", outline(&file));
        assert!(text[defining[0].span.start_byte as usize..defining[0].span.end_byte as usize].contains(head), "{declared}");
    }
}

#[test]
fn a_macro_before_the_name_of_a_class_is_not_its_name() {
    let text = "class SHOP_API Basket final : public Base<int>\n{\npublic:\n  int total() const { return 1; }\n};\nstruct SHOP_API(1) Item { int price; };\nclass AABB final {\n  int volume;\n};\nstruct KIND kind(int x) {\n  return make(x);\n}\n";
    let file = chunks_of(Language::CPP, text, &CutOptions::default());
    let defined: Vec<&str> = file.chunks.iter().flat_map(|chunk| chunk.definitions.iter().map(String::as_str)).collect();
    assert_eq!(defined, ["Basket", "total", "Item", "AABB", "kind"]);
}

#[test]
fn a_comment_whose_lines_read_as_heads_belongs_to_what_follows() {
    let text = "class SHOP_API Base\n{\n  int size();\n};\n\n/** Goods, in a basket.\n   An item (see below) {\n   Leaf (none) is {empty}\n   struct Other {\n*/\nclass SHOP_API(1) Basket final : public Base\n{\n  int total();\n};\n";
    let file = chunks_of(Language::CPP, text, &SMALL);
    let defined: Vec<&str> = file.chunks.iter().flat_map(|chunk| chunk.definitions.iter().map(String::as_str)).collect();
    assert!(defined.contains(&"Basket") && !defined.iter().any(|name| ["item", "Leaf", "Other"].contains(name)), "{defined:?}");
    let basket = file.chunks.iter().find(|chunk| chunk.definitions.iter().any(|name| name == "Basket"));
    assert_eq!(basket.map(|chunk| chunk.span.start_line), Some(6));
}

#[test]
fn a_long_section_is_cut_where_it_names_something_and_a_target_belongs_to_what_it_stands_before() {
    let text = |n: usize| format!(".. confval:: name_{n}\n\n{}\n\n", "   It says how it is done.\n".repeat(25));
    let document = format!("Title\n=====\n\n.. _how-to:\n\nSettings\n--------\n\n{}", (0..6).map(text).collect::<String>());
    let file = chunks_of(Language::RST, &document, &SMALL);
    let found: Vec<_> = file.chunks.iter().map(|chunk| (chunk.symbol.as_str(), chunk.definitions.clone())).collect();
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let settings = "Title > Settings";
    let expected = [
        ("Title", named(&[])),
        (settings, named(&["how-to", "name_0", "name_1"])),
        (settings, named(&["name_2", "name_3"])),
        (settings, named(&["name_4", "name_5"])),
    ];
    assert_eq!(found, expected);
    for chunk in &file.chunks[2..] {
        assert!(document[chunk.span.start_byte as usize..].starts_with(".. confval::"));
    }
}

#[test]
fn a_target_within_a_heading_is_that_headings() {
    let file =
        chunks_of(Language::MARKDOWN, "# First <a id=\"one\"></a>\n## Second\nText.\n<a id=\"old\"></a>\n\n## Third\n", &SMALL);
    let found: Vec<_> = file.chunks.iter().map(|chunk| (chunk.symbol.as_str(), chunk.definitions.join(" "))).collect();
    let names: Vec<_> = found.iter().map(|(symbol, names)| (symbol.rsplit(" > ").next().unwrap(), names.as_str())).collect();
    assert_eq!(names[1..], [("Second", ""), ("Third", "old")]);
    assert_eq!(names[0].1, "one");
}
