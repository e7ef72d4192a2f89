import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { hash } from "node:crypto"
import { mkdir, rm, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { layerMigrationDirectory } from "../../../src/layers/migrations/Directory.ts"
import { MigrationFiles } from "../../../src/services/ports/MigrationFiles.ts"
import { MigrationSettings } from "../../../src/services/migrations/Settings.ts"
import { filesDirectory } from "../../support/migrations/directory.ts"
import { drizzle, drizzle1, prisma } from "../../support/migrations/records.ts"

type Contents = Parameters<typeof filesDirectory>[0]

const on = <A, E>(directory: string, use: (files: MigrationFiles["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(MigrationFiles, use).pipe(
    Effect.provide(
      Layer.provide(
        layerMigrationDirectory,
        Layer.succeed(MigrationSettings, { directory, tool: "auto" as const, timeout: 0 })
      )
    )
  )
const folder = (directory: string) => on(directory, (files) => files.folder)
const folderOf = (contents: Contents) => Effect.flatMap(filesDirectory(contents), folder)
const textOf = (directory: string, name: string) =>
  on(directory, (files) =>
    Effect.gen(function* () {
      const all = yield* files.folder
      const file = all.files.find((one) => one.name === name)
      assert.isDefined(file, JSON.stringify(all))
      return yield* files.text(all, file as NonNullable<typeof file>)
    })
  )
const names = ({ files }: { readonly files: ReadonlyArray<{ readonly name: string }> }) => files.map(({ name }) => name)

describe("a directory", () => {
  it.effect("that is missing has no files, and a note", () =>
    Effect.gen(function* () {
      const found = yield* folder("no/such/directory")
      assert.deepInclude(found, { files: [], layout: "plain" })
      assert.match(found.notes.join(), /directory no\/such\/directory .* does not exist/)
    })
  )

  it.effect("that is not a directory can't be read", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({ file: "x" })
      const error = yield* Effect.flip(folder(join(directory, "file")))
      assert.deepInclude(error, { _tag: "Unprocessable", code: "MIGRATION_UNREADABLE" })
    })
  )

  it.effect("has a layout by its contents", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* folderOf(drizzle.files)).layout, "drizzle")
      assert.strictEqual((yield* folderOf(drizzle1.files)).layout, "drizzle-folders")
      assert.strictEqual((yield* folderOf(prisma.files)).layout, "prisma")
      assert.strictEqual((yield* folderOf({ "1.sql": "" })).layout, "plain")
      assert.strictEqual((yield* folderOf({})).layout, "plain")
    })
  )

  it.effect("of plain files has only those that end in .sql and folders with a migration.sql", () =>
    Effect.gen(function* () {
      const found = yield* folderOf({
        "10.sql": "",
        "2.SQL": "",
        "3.up.sql": "",
        "3.down.sql": "",
        "4/migration.sql": "",
        "4.sql": "",
        "5/other.sql": "",
        ".hidden.sql": "",
        "._2.sql": "",
        "readme.md": ""
      })
      assert.deepStrictEqual(names(found), ["2", "3.up", "4", "10"])
      assert.match(found.notes.join("\n"), /3\.down\.sql is ignored/)
      assert.match(found.notes.join("\n"), /4\/migration\.sql is ignored/)
    })
  )

  it.effect("of Drizzle has what the journal lists, in its order", () =>
    Effect.gen(function* () {
      const entries = ["b", "a", "gone", "../out", "b"].map((tag, when) => ({ tag, when }))
      const found = yield* folderOf({
        "meta/_journal.json": JSON.stringify({ entries }),
        "a.sql": "a",
        "b.sql": "b",
        "c.sql": "c"
      })
      assert.deepStrictEqual(names(found), ["b", "a", "gone"])
      assert.deepInclude(found.files[2], { missing: true, checksum: null })
      for (const left of ["c.sql", `"../out"`, "another migration has the name b"])
        assert.include(found.notes.join("\n"), left)
    })
  )

  it.effect("of Drizzle with a broken journal can't be read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(folderOf({ "meta/_journal.json": "{", "a.sql": "" }))
      assert.match(error.error, /_journal\.json is not a valid Drizzle journal/)
    })
  )

  it.effect("of Prisma names a folder without its migration.sql", () =>
    Effect.gen(function* () {
      const found = yield* folderOf({ ...prisma.files, "3/note.txt": "", "loose.sql": "" })
      assert.deepInclude(found.files.at(0), { name: "20261121171702_init", folder: true })
      assert.match(found.files.at(-1)?.problem ?? "", /missing/)
      assert.match(found.notes.join(), /loose\.sql is ignored/)
    })
  )
})

describe("a file", () => {
  it.effect("has the checksum that its tool computes", () =>
    Effect.gen(function* () {
      const latin = new Uint8Array([0x2d, 0x2d, 0xe4])
      const { files: plain } = yield* folderOf({ "a.sql": latin, "b.sql": "x\r\n" })
      assert.strictEqual(plain[0]?.checksum, hash("sha256", latin))
      assert.deepStrictEqual(plain[1]?.alike, [hash("sha256", "x\n"), hash("sha256", "x\r\r\n")])
      const journal = JSON.stringify({ entries: [{ tag: "a", when: 1 }] })
      const { files } = yield* folderOf({ "meta/_journal.json": journal, "a.sql": latin })
      // drizzle-orm 0.45 hashes readFileSync(path).toString().
      assert.strictEqual(files[0]?.checksum, hash("sha256", "--\uFFFD"))
      const { files: marked } = yield* folderOf({ "meta/_journal.json": journal, "a.sql": "\uFEFFx" })
      assert.strictEqual(marked[0]?.checksum, hash("sha256", "\uFEFFx"))
    })
  )

  it.effect.each([
    ["its encoding", new Uint8Array([0xff, 0xfe, 0x41, 0x00]), /not UTF-8/],
    ["a NUL", "select 1;\0drop table x", /NUL/],
    ["its size", new Uint8Array(16 * 1024 * 1024 + 1).fill(32), /larger than 16 MiB/]
  ] as const)("that can't be run because of %s is listed with the problem, and not returned", ([, content, problem]) =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({ "a.sql": content })
      const { files } = yield* folder(directory)
      assert.match(files[0]?.problem ?? "", problem)
      assert.match(files[0]?.checksum ?? "", /^[0-9a-f]{64}$/)
      const error = yield* Effect.flip(textOf(directory, "a"))
      assert.deepInclude(error, { _tag: "Unprocessable", code: "MIGRATION_UNREADABLE" })
    })
  )

  it.effect("returns the text without the byte order mark, and the checksum of the bytes", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({ "a.sql": "\uFEFFselect 'ä';\r\n" })
      assert.deepStrictEqual(yield* textOf(directory, "a"), {
        sql: "select 'ä';\r\n",
        checksum: hash("sha256", "\uFEFFselect 'ä';\r\n")
      })
    })
  )

  it.effect("must be a regular file inside the directory", () =>
    Effect.gen(function* () {
      const outside = yield* filesDirectory({ "secret.sql": "secret", "folder/migration.sql": "secret" })
      const directory = yield* filesDirectory({ "real.sql": "real" })
      yield* Effect.promise(async () => {
        await symlink(join(outside, "secret.sql"), join(directory, "link.sql"))
        await symlink(join(outside, "folder"), join(directory, "linked"))
        await symlink(join(directory, "real.sql"), join(directory, "inside.sql"))
        await symlink(join(directory, "nowhere"), join(directory, "dangling.sql"))
        await mkdir(join(directory, "folder.sql"))
      })
      // Opening a socket or FIFO would fail or hang.
      yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise((done) => {
              const server = createServer().listen(join(directory, "socket.sql"), () => done(server))
            })
        ),
        (server) => Effect.promise(() => new Promise((done) => (server as ReturnType<typeof createServer>).close(done)))
      )
      const { files } = yield* folder(directory)
      const problems = Object.fromEntries(files.map(({ name, problem }) => [name, problem]))
      assert.deepStrictEqual(problems, {
        dangling: "the file is missing",
        folder: "it is not a regular file",
        inside: undefined,
        link: "it is outside the directory",
        linked: "it is outside the directory",
        real: undefined,
        socket: "it is not a regular file"
      })
      assert.notInclude(JSON.stringify(files), hash("sha256", "secret"))
      for (const name of ["link", "linked", "socket"]) {
        assert.strictEqual((yield* Effect.flip(textOf(directory, name))).code, "MIGRATION_UNREADABLE")
      }
    })
  )

  it.effect("that became a link after it was listed is not followed", () =>
    Effect.gen(function* () {
      const directory = yield* filesDirectory({ "a.sql": "a" })
      yield* on(directory, (files) =>
        Effect.gen(function* () {
          const all = yield* files.folder
          const [file] = all.files
          yield* Effect.promise(async () => {
            await rm(join(directory, "a.sql"))
            await symlink("/etc/hostname", join(directory, "a.sql"))
          })
          assert.match(
            (yield* Effect.flip(files.text(all, file as NonNullable<typeof file>))).error,
            /outside the directory/
          )
          yield* Effect.promise(async () => {
            await rm(join(directory, "a.sql"))
            await writeFile(join(directory, "b.sql"), "")
          })
          assert.match((yield* Effect.flip(files.text(all, file as NonNullable<typeof file>))).error, /ENOENT/)
        })
      )
    })
  )
})
