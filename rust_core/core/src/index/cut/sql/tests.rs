//! Tests of where statements of SQL end, and of what they define.

use super::*;

/// Check the statements of `text`, each as its symbol and its last line.
#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let found = pieces(text, &CutOptions::default());
    let found: Vec<(&str, &str)> =
        found.iter().map(|p| (p.symbol.as_str(), text[p.start..p.end].trim_end().lines().last().unwrap().trim())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn placeholders_open_no_quotes() {
    let text = format!("{}CREATE FUNCTION f() AS $$ a; b; $$;\n", "SELECT * FROM t WHERE id = $1;\n".repeat(20));
    let found = pieces(&text, &CutOptions::default());
    assert!(found.last().unwrap().symbol == "f" && text[found.last().unwrap().start..].starts_with("CREATE"));
}

#[test]
fn blocks_of_templates_that_have_a_name_are_pieces() {
    let text = "{# Cents é. #}\n{% macro cents(x='%') -%}\n  select {{ x }}; select 1\n{%- endmacro %}\n\n{%- test even(model) %}\nselect 1\n{% endtest %}\nCREATE TABLE t (a int);\n{% macro open(x) %}\n";
    check(
        text,
        &[("cents", "{%- endmacro %}"), ("even", "{% endtest %}"), ("t", "CREATE TABLE t (a int);"), ("", "{% macro open(x) %}")],
    );
    assert_eq!(pieces(text, &CutOptions::default())[0].start, 0, "its comment belongs to it");
}

#[test]
fn a_look_for_a_block_isnt_repeated_for_each_statement() {
    let text = "declare x;\n".repeat(30_000);
    assert_eq!(pieces(&text, &CutOptions::default()).len(), 30_000);
}

#[test]
fn routines_end_where_their_dialect_says() {
    let check_one = |text: &str, symbol: &str, last: &str| check(text, &[(symbol, last), ("", "SELECT 2;")]);
    check_one(
        "CREATE PROC [dbo].[p] @a INT AS\nBEGIN TRY\n SELECT 1;\nEND TRY\nBEGIN CATCH\n THROW;\nEND CATCH\nGO\nSELECT 2;",
        "dbo.p",
        "END CATCH",
    );
    check_one("CREATE OR ALTER PROCEDURE p AS\nSELECT 1;\nCREATE TABLE #t (a INT);\nSELECT 3;\nGO\nSELECT 2;", "p", "SELECT 3;");
    check_one(
        "CREATE FUNCTION f() RETURNS int AS $x$\nBEGIN\n RETURN ';';\nEND;\n$x$ LANGUAGE plpgsql;\nSELECT 2;",
        "f",
        "$x$ LANGUAGE plpgsql;",
    );
    check_one("DELIMITER //\nCREATE PROCEDURE p()\nBEGIN\n SELECT 1;\nEND //\nDELIMITER ;\nSELECT 2;", "p", "END //");
    check_one("CREATE OR REPLACE PROCEDURE p IS\n n NUMBER;\nBEGIN\n NULL;\nEND p;\n/\nSELECT 2;", "p", "END p;");
    check_one("CREATE OR REPLACE PROCEDURE p IS\n n NUMBER;\nBEGIN\n IF a THEN NULL; END IF;\nEND p;\nSELECT 2;", "p", "END p;");
    check_one(
        "CREATE PACKAGE BODY k AS\n PROCEDURE a IS BEGIN NULL; END a;\n PROCEDURE b IS BEGIN NULL; END;\nEND k;\nSELECT 2;",
        "k",
        "END k;",
    );
    check_one("CREATE TRIGGER t AFTER INSERT ON x BEGIN\n SELECT CASE WHEN 1 THEN 2 END;\nEND;\nSELECT 2;", "t", "END;");
    check_one(
        "CREATE TRIGGER t BEFORE INSERT ON x EXECUTE FUNCTION f();\nSELECT 2;",
        "t",
        "CREATE TRIGGER t BEFORE INSERT ON x EXECUTE FUNCTION f();",
    );
}

#[test]
fn other_statements_end_at_their_mark_or_before_the_next_create() {
    check(
        "CREATE TABLE IF NOT EXISTS app.\"users\" (\n a TEXT DEFAULT ';' -- it's; a\n);\n\n-- About v.\nCREATE VIEW v AS SELECT 1;",
        &[("app.users", ");"), ("v", "CREATE VIEW v AS SELECT 1;")],
    );
    check(
        "CREATE TABLE a (x INT)\nCREATE TABLE b (x INT)\nGO\nALTER TABLE a ADD y INT",
        &[("a", "CREATE TABLE a (x INT)"), ("b", "CREATE TABLE b (x INT)"), ("a", "ALTER TABLE a ADD y INT")],
    );
    check(
        "BEGIN;\nCREATE UNIQUE INDEX CONCURRENTLY i ON t (a);\nCOMMIT;",
        &[("", "BEGIN;"), ("i", "CREATE UNIQUE INDEX CONCURRENTLY i ON t (a);"), ("", "COMMIT;")],
    );
    check("COPY t FROM stdin;\nit's\n\\.\nSELECT 1;", &[("", "\\."), ("", "SELECT 1;")]);
    check(
        "INSERT INTO t VALUES ('it\\'s;', 'C:\\');\nSELECT 1;",
        &[("", "INSERT INTO t VALUES ('it\\'s;', 'C:\\');"), ("", "SELECT 1;")],
    );
    check("-- head\n\nSELECT 1;", &[("", "-- head"), ("", "SELECT 1;")]);
    check("SELECT 'never closed;\nCREATE TABLE t (a INT);", &[("", "SELECT 'never closed;"), ("t", "CREATE TABLE t (a INT);")]);
}

#[test]
fn only_what_creates_defines() {
    let defined =
        |text: &str| pieces(text, &CutOptions::default()).into_iter().flat_map(|piece| piece.definitions).collect::<Vec<_>>();
    assert_eq!(defined("CREATE TABLE a (x INT);\nALTER TABLE a ADD y INT;\nDROP TABLE b;\nALTER PROC p AS SELECT 1"), ["a", "p"]);
}

#[test]
fn what_stands_within_statements_and_comments_of_mysql_is_defined() {
    let defined = |text: &str| {
        let found = pieces(text, &CutOptions::default());
        found
            .into_iter()
            .flat_map(|piece| piece.definitions.into_iter().chain(piece.inner.into_iter().map(|(_, name)| name)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (text, expected) in [
        (
            "CREATE PACKAGE BODY k AS\n PROCEDURE a IS BEGIN NULL; END a;\n FUNCTION b RETURN INT IS BEGIN RETURN 1; END;\nEND k;\n/\n",
            "k, a, b",
        ),
        ("IF NOT EXISTS (SELECT 1 FROM sys.tables)\nBEGIN\n  CREATE TABLE dbo.a (x INT); -- create table c\nEND\nGO\n", "a"),
        (
            "CREATE PROC dbo.p AS\nBEGIN\n  CREATE TABLE #found (x INT);\n  CREATE TABLE ##kept (x INT); -- CREATE TABLE #no\n  CREATE TABLE t (x INT);\nEND\nGO\n",
            "p, found, kept",
        ),
        (
            "CREATE FUNCTION f() RETURNS void AS $$\nBEGIN\n  CREATE TEMP TABLE found (x int);\nEND $$ LANGUAGE plpgsql;\n",
            "f, found",
        ),
        ("DO $$\nBEGIN\n  CREATE TYPE mood AS ENUM ('a');\nEND $$;\n", "mood"),
        ("EXEC sp_executesql N'CREATE PROCEDURE [dbo].[p] AS SELECT 1'\nGO\n", "p"),
        (
            "DELIMITER ;;\n/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`%`*/ /*!50003 TRIGGER `t` BEFORE INSERT ON `x` FOR EACH ROW BEGIN SET a = 1; END */;;\nDELIMITER ;\n",
            "t",
        ),
        (
            "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`r`@`%` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS SELECT 1 */;\nSELECT 2;\n",
            "v",
        ),
        ("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`;\n", "shop"),
        (
            "CREATE TABLE [dbo].[Order Details] (a INT);\nCREATE TABLE \"Price List\" (a INT);\nCREATE VIEW db..v AS SELECT 1;\n",
            "Order Details, Price List, v",
        ),
        (
            "# It's the first\nCREATE TABLE a (x INT);\n  # it's the next;\nCREATE TABLE b (x INT);\nSELECT a #> b FROM #t;\n",
            "a, b",
        ),
    ] {
        assert_eq!(defined(text), expected, "{text}");
    }
}

#[test]
fn a_long_package_is_cut_by_its_members() {
    let member = |name: &str| format!(" -- About {name}.\n PROCEDURE {name} IS\n BEGIN\n{} END;\n", "  NULL;\n".repeat(20));
    let text = format!("CREATE PACKAGE BODY k AS\n x INT;\n{}{}END k;\n/\n", member("a"), member("b"));
    let found = pieces(&text, &CutOptions::default());
    let found: Vec<_> =
        found.iter().map(|piece| (piece.symbol.as_str(), text[piece.start..].trim_start().lines().next().unwrap())).collect();
    assert_eq!(found, [("k", "CREATE PACKAGE BODY k AS"), ("k.a", "-- About a."), ("k.b", "-- About b.")]);
}
