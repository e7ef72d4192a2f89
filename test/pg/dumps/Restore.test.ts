import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { constants, zstdCompressSync } from "node:zlib"
import { dumpWasm } from "../../../src/layers/dumps/wasm/Wasm.ts"
import { restorePlain } from "../../../src/layers/dumps/plain/Restore.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { databaseContent } from "../../support/dumps/content.ts"
import { everythingSql } from "../../support/rows/everythingDatabase.ts"
import { databaseUrl } from "../../support/postgres/server.ts"
import {
  ask,
  asItself,
  emptyDatabase,
  failures,
  packed,
  restored,
  sessions,
  sessionsEnd,
  temporaryDirectory,
  timeout,
  unprivileged,
  write
} from "../../support/backups/restores.ts"

/** The directory of PostgreSQL's native programs, if available. */
const programs = process.env["SVC_TEST_PG_BIN"]
layer(layerDatabase({ name: "svc_restore", before: everythingSql }), live)("PlainRestore", (it) => {
  it.effect("restores a database equal to the dumped one", () =>
    Effect.gen(function* () {
      const { login: source } = yield* Outside
      const file = join(yield* temporaryDirectory, "everything.sql.zst")
      yield* dumpWasm(source, { timeout })(source.database, file, () => Effect.void)
      const { login, reported } = yield* restored(file)
      const [before, after] = yield* Effect.promise(() =>
        Promise.all([databaseContent(source), databaseContent(login)])
      )
      for (const [what, lines] of Object.entries(before)) assert.deepStrictEqual(after[what], lines, what)
      assert.isAbove(before["rows"]?.length ?? 0, 15)
      assert.strictEqual(reported.at(-1), 1)
      assert.deepStrictEqual(
        reported,
        reported.toSorted((a, b) => a - b)
      )
      const [owned] = yield* ask(
        login,
        "select relowner::regrole::text as owner from pg_class where oid = 'things.owned'::regclass"
      )
      assert.strictEqual(owned?.["owner"], source.user)
      // The source has an event trigger that raises: it is restored, and did not fail the restore.
      const later = yield* Effect.exit(ask(login, "comment on schema things is ''"))
      assert.include(String(later), "fired")
      assert.strictEqual(yield* sessionsEnd, true)
    })
  )

  for (const options of [[], ["--inserts"], ["--column-inserts", "--rows-per-insert=3"]]) {
    it.effect.skipIf(programs === undefined)(`accepts a script of pg_dump ${options.join(" ")}`, () =>
      Effect.gen(function* () {
        const { login: source } = yield* Outside
        const plain = join(yield* temporaryDirectory, "native.sql")
        yield* Effect.promise(() =>
          promisify(execFile)(join(programs ?? "", "pg_dump"), [...options, "-f", plain, databaseUrl(source)])
        )
        const text = yield* Effect.promise(() => readFile(plain))
        const { login } = yield* restored(yield* write(zstdCompressSync(text)))
        const [before, after] = yield* Effect.promise(() =>
          Promise.all([databaseContent(source), databaseContent(login)])
        )
        for (const [what, lines] of Object.entries(before)) assert.deepStrictEqual(after[what], lines, what)
      })
    )
  }

  it.effect("reports an incomplete or invalid file", () =>
    Effect.gen(function* () {
      const failure = yield* failures
      const directory = yield* temporaryDirectory
      const text =
        "create table public.t (i int);\ncopy public.t from stdin;\n" + "1\n".repeat(200_000) + "\\.\nselect 1;\n"
      const whole = zstdCompressSync(Buffer.from(text))
      yield* restored(yield* write(whole))
      // So ended some dumps of earlier versions.
      const empty = zstdCompressSync("", { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
      yield* restored(yield* write(Buffer.concat([whole, empty])))
      for (const size of [0, 3, 20, whole.length - 1]) {
        assert.include(yield* failure(yield* write(whole.subarray(0, size))), "truncated", `${size} bytes`)
      }
      for (const behind of [Buffer.from("garbage"), Buffer.alloc(1), whole]) {
        assert.match(yield* failure(yield* write(Buffer.concat([whole, behind]))), /after its end|damaged/)
      }
      assert.include(yield* failure(yield* write(Buffer.from(text))), "damaged")
      assert.include(yield* failure(join(directory, "none")), "ENOENT")
      assert.include(yield* failure(directory), "EISDIR")
      for (const cut of [text.slice(0, 100), text.slice(0, 20), text.slice(0, -2)]) {
        assert.include(yield* failure(yield* packed(cut)), "ends within")
      }
      assert.include(yield* failure(yield* packed("")), "no statement")
    })
  )

  it.effect("stops at the first error, and reports where", () =>
    Effect.gen(function* () {
      const failure = yield* failures
      const table = "create table public.t (i int check (i > 0));\n"
      const cases: ReadonlyArray<readonly [string, RegExp]> = [
        [
          `${table}-- next\nselect nothing from public.t;\nselect 1;`,
          /^column "nothing" does not exist \(42703\), at: select nothing from public.t$/
        ],
        [`${table}copy public.t from stdin;\n1\n2\nx\n4\n\\.\n`, /22P02\), at: copy public.t from stdin, row 3$/],
        [
          `${table}copy public.t from stdin;\n${"1\n".repeat(500_000)}-1\n${"1\n".repeat(2_000_000)}\\.\n`,
          /23514\), at: copy public.t from stdin, row 500001$/
        ],
        [`${table}copy public.t (j) from stdin;\n1\n\\.\n`, /42703\), at: copy public.t \(j\) from stdin$/],
        [
          "create role x password 'secret' nonsense;",
          /^unrecognized role option "nonsense" \(42601\), at: create role x password$/
        ],
        ["do $$ begin raise 'broken'; end $$;", /^broken \(P0001\), at: do$/],
        ["select pg_terminate_backend(pg_backend_pid());", /57P01|connection to the database broke/],
        ["begin; select 1;", /does not end its transaction/],
        ["select 1;\n\\! touch /tmp/never\n", /psql command/],
        ["select 1 \\gexec\n", /backslash/],
        ["set client_encoding = 'SJIS'; select 1;", /SJIS/]
      ]
      for (const [text, reason] of cases) assert.match(yield* failure(yield* packed(text)), reason)
      const { login } = yield* Outside
      const nowhere = restorePlain(login, { timeout })(
        yield* packed("select 1;"),
        asItself({ ...login, database: "no_such_database" }),
        () => Effect.void
      )
      assert.include((yield* Effect.flip(nowhere)).reason, "3D000")
      assert.strictEqual(yield* sessionsEnd, true)
    })
  )

  it.effect("stops after its time limit or an interruption, and cancels its statement", () =>
    Effect.gen(function* () {
      const failure = yield* failures
      const sleeping = yield* packed("select pg_sleep(60);")
      assert.include(yield* failure(sleeping, { timeout: 1_000 }), "It took over 1 s")
      assert.strictEqual(yield* sessionsEnd, true)
      const fiber = yield* Effect.forkChild(restored(sleeping))
      while ((yield* sessions) === 0) yield* Effect.sleep("50 millis")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* sessionsEnd, true)
      // While the server does not read the rows, of which no more is held than the connection's buffers have.
      const rows = Array.from({ length: 256 }, () => randomBytes(32_768).toString("base64"))
      const locked = yield* packed(
        `create table public.t (i text); create function public.slow() returns trigger language plpgsql as 'begin perform pg_sleep(60); return new; end';
         create trigger slow before insert on public.t for each row execute function public.slow();
         copy public.t from stdin;\n${rows.join("\n")}\n\\.\n`
      )
      let sent = 0
      const onProgress = (fraction: number) => Effect.sync(() => void (sent = fraction))
      assert.include(yield* failure(locked, { timeout: 2_000, onProgress }), "It took over 2 s")
      assert.isBelow(sent, 0.5)
      assert.strictEqual(yield* sessionsEnd, true)
    })
  )

  it.effect("skips owners, timeouts and subscriptions", () =>
    Effect.gen(function* () {
      const file = yield* packed(`set statement_timeout = '1ms'; set transaction_timeout = 1;
        create table public.t (i int); alter table public.t owner to nobody_at_all; select pg_sleep(0.1);
        create subscription s connection 'host=nowhere' publication p with (connect = false);
        alter subscription s owner to x; comment on subscription s is 'x'; security label for x on subscription s is 'x';
        copy (select 1) to stdout;`)
      const { login } = yield* restored(file)
      assert.deepStrictEqual(yield* ask(login, "select subname from pg_subscription where subname = 's'"), [])
      assert.deepStrictEqual(yield* ask(login, "select relname from pg_class where relname = 't'"), [{ relname: "t" }])
    })
  )

  it.effect("does not depend on settings of the login or the database", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const login = yield* emptyDatabase()
      yield* ask(
        login,
        "create schema bad; create function bad.lower(text) returns text language plpgsql as 'begin raise ''called''; end'"
      )
      for (const setting of [
        "search_path = bad, pg_catalog",
        "default_transaction_read_only = on",
        "standard_conforming_strings = off",
        "statement_timeout = 1",
        "default_transaction_isolation = serializable"
      ]) {
        yield* sql(`alter database ${login.database} set ${setting}`)
      }
      const file = yield* packed("create table public.t as select lower('A\\' || ';') as a;")
      yield* restorePlain(login, { timeout })(file, asItself(login), () => Effect.void)
      assert.deepStrictEqual(yield* ask(login, "begin read only; select a from public.t").pipe(Effect.map(() => 1)), 1)
    })
  )

  it.effect("works where a role has an empty search path", () =>
    Effect.gen(function* () {
      const { login, sql } = yield* Outside
      const role = `hardened_${process.pid}`
      yield* Effect.acquireRelease(sql(`create role ${role}`), () => sql(`drop role ${role}`))
      yield* sql(`alter role ${role} in database ${login.database} set search_path = ''`)
      const { outside, target } = yield* unprivileged
      yield* restorePlain(login, { timeout })(yield* packed("create table public.t ();"), target, () => Effect.void)
      assert.lengthOf(yield* ask(outside, "select from pg_class where relname = 't'"), 1)
    })
  )

  it.effect("accepts scripts in the database's encoding, and with escapes in every string", () =>
    Effect.gen(function* () {
      const text =
        "set client_encoding = 'LATIN1'; create table public.t (a text); copy public.t from stdin;\nü\n\\.\ninsert into public.t values ('é;');"
      const { login } = yield* restored(yield* packed(text, "latin1"), {
        made: "encoding 'LATIN1' locale_provider libc lc_collate 'C' lc_ctype 'C'"
      })
      assert.deepStrictEqual(yield* ask(login, "select a from public.t order by 1"), [{ a: "é;" }, { a: "ü" }])
      const escapes =
        "set escape_string_warning = off; set standard_conforming_strings = off; create table public.t as select '\\';' as a;"
      const other = yield* restored(yield* packed(escapes))
      assert.deepStrictEqual(yield* ask(other.login, "select a from public.t"), [{ a: "';" }])
    })
  )

  it.effect("works for a login that is not a superuser", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const login = yield* emptyDatabase()
      const role = `restorer_${process.pid}`
      yield* Effect.acquireRelease(sql(`create role ${role} login password 'x'`), () => sql(`drop role ${role}`))
      yield* sql(`alter database ${login.database} owner to ${role}`)
      const file = yield* packed(`create table public.t (i int); copy public.t from stdin;\n1\n\\.\n
        set session authorization every_reader; grant select on public.t to every_reader; reset session authorization;`)
      const mine = { ...login, user: role, password: Redacted.make("x") }
      yield* restorePlain(mine, { timeout })(file, asItself(mine), () => Effect.void)
      assert.deepStrictEqual(yield* ask(mine, "select i from public.t"), [{ i: 1 }])
      yield* sql(`alter database ${login.database} owner to ${login.user}`)
      yield* ask(login, `reassign owned by ${role} to ${login.user}; drop owned by ${role}`)
    })
  )
})
