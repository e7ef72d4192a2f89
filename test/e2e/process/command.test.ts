import { execFile, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, inject, it } from "vitest"
import { copyDataDir, makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { isWithout } from "../../support/skips.ts"
import { listeningAt, onTerminal, root, runToEnd, startService, testSettings, until } from "../../support/service.ts"

const run = promisify(execFile)
const commands =
  "start example check grants version key account psql db-url gen-types migrations diff functions schedules export import recover upgrade-database".split(
    " "
  )

type Env = Readonly<Record<string, string>>

/** Runs `svc` to its end. */
const svc = (args: ReadonlyArray<string>, env: Env = {}) =>
  run(process.execPath, ["dist/svc.mjs", ...args], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", SVC_DATA_DIR: "/nonexistent/svc", ...env }
  }).then(
    ({ stderr, stdout }) => ({ code: 0, stderr, stdout }),
    ({ code, stderr, stdout }: { readonly code: number; readonly stderr: string; readonly stdout: string }) => ({
      code,
      stderr,
      stdout
    })
  )

describe("svc", () => {
  it("explains itself and each command on standard output", async () => {
    const [help, ...each] = await Promise.all([svc(["--help"]), ...commands.map((name) => svc([name, "--help"]))])
    for (const name of commands) assert.match(help.stdout, new RegExp(`^  ${name} +\\S`, "m"))
    for (const [index, { code, stderr, stdout }] of each.entries()) {
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, new RegExp(`USAGE\n  svc ${commands[index]}\\b`))
      assert.notInclude(stdout, "\u001B")
    }
  })

  it("says what is wrong with a command line on standard error, with exit code 2", async () => {
    for (const [args, fault] of [
      [["acount"], /^svc: Unknown subcommand "acount".*account.*\nUsage: svc /],
      [["key", "admin"], /^svc: .*"admin".*anon.*service_role.*\nUsage: svc key /],
      [["key", "anon", "x".repeat(101)], /^svc: .*A label has up to 100 characters.*\nUsage: svc key /],
      [["account", "create"], /^svc: .*email.*\nUsage: svc account create /],
      [["start", "--example", "blog"], /^svc: .*"blog".*todo.*\nUsage: svc start /],
      [["example", "remove", "blog"], /^svc: .*"blog".*todo.*\nUsage: svc example remove /],
      [["recover", "--to", "x"], /^svc: .*--to.*\nUsage: svc recover /],
      [
        ["migrations", "resolve", "x", "undone"],
        /^svc: .*undone.*applied.*rolled-back.*\nUsage: svc migrations resolve /
      ],
      [["export"], /^svc: .*place.*\nUsage: svc export /]
    ] as const) {
      const { code, stderr, stdout } = await svc(args)
      assert.deepStrictEqual([code, stdout], [2, ""], stderr)
      assert.match(stderr, fault)
    }
  })

  it("prints versions", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { readonly version: string }
    assert.strictEqual((await svc(["--version"])).stdout, `svc ${version}\n`)
    const printed = JSON.parse((await svc(["version", "--json"])).stdout) as Env
    assert.deepInclude(printed, { version, node: process.versions.node })
  })

  it("completes commands in bash, zsh and fish", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await svc(["--completions", shell])
      assert.strictEqual(code, 0)
      for (const name of commands) assert.include(stdout, name)
    }
    const script = (await svc(["--completions", "bash"])).stdout
    const complete = `${script}\nCOMP_WORDS=(svc gen-); COMP_CWORD=1; COMP_LINE="svc gen-"; COMP_POINT=8
      fn=$(complete -p svc | sed -E 's/.*-F ([^ ]+).*/\\1/'); $fn svc gen- svc; printf '%s\\n' "\${COMPREPLY[@]}"`
    assert.strictEqual((await run("bash", ["-c", complete])).stdout.trim(), "gen-types")
  })

  it("prints results and errors as JSON", async () => {
    const service = inject("service")
    const env = { SVC_DATA_DIR: service.dataDir }
    const made = JSON.parse((await svc(["key", "anon", "for a page", "--json"], env)).stdout) as Env
    assert.match(made["key"] ?? "", /^svc_pk_|^svc_/)
    assert.deepInclude(made, { type: "anon", label: "for a page" })
    const { url } = JSON.parse((await svc(["db-url", "--json"], env)).stdout) as { readonly url: string }
    assert.match(url, /^postgres:\/\/postgres:\S+@127\.0\.0\.1:/)
    const out = join(await makeDataDir(), "types.ts")
    const written = await svc(["gen-types", "--url", service.url, "--out", out, "--json"], env)
    assert.deepStrictEqual(JSON.parse(written.stdout), { out })
    assert.include(await readFile(out, "utf8"), "export type Database = ")
    await removeDataDir(dirname(out))
    const failed = await svc(["account", "recover", "nobody@example.com", "--json"], env)
    assert.deepStrictEqual(
      [failed.code, failed.stdout, JSON.parse(failed.stderr)],
      [1, "", { error: "There is no account with the address nobody@example.com" }]
    )
  })

  it("uses colours on a terminal only, and not with NO_COLOR", async () => {
    assert.include((await svc(["--help"], onTerminal)).stdout, "\u001B[1m")
    assert.notInclude((await svc(["--help"], { ...onTerminal, NO_COLOR: "1" })).stdout, "\u001B")
  })

  it("takes the key of gen-types from keys.json, or SVC_SERVICE_KEY", async () => {
    const service = inject("service")
    const types = async (env: Env) => (await svc(["gen-types", "--url", service.url, "--schema", "public"], env)).stdout
    assert.include(await types({ SVC_SERVICE_KEY: service.service_role }), "export type Database = ")
    assert.include(await types({ SVC_DATA_DIR: service.dataDir }), "export type Database = ")
    const { code, stderr } = await svc(["gen-types", "--url", service.url])
    assert.deepStrictEqual([code, stderr.includes("set SVC_SERVICE_KEY")], [1, true])
  })
})

describe("svc functions and svc schedules", () => {
  const env = () => ({ SVC_SERVICE_KEY: inject("service").service_role })
  const functions = (...args: ReadonlyArray<string>) =>
    svc(["functions", ...args, "--url", inject("service").url], env())

  it.skipIf(isWithout("deno"))("deploy a folder with what is beside it, print logs, and roll back", async () => {
    const { anon, url } = inject("service")
    const dir = await mkdtemp(join(tmpdir(), "svc-functions-"))
    const write = async (path: string, text: string) => {
      await mkdir(dirname(join(dir, path)), { recursive: true })
      await writeFile(join(dir, path), text)
    }
    const called = async () => (await fetch(`${url}/v1/functions/by-command`, { headers: { apikey: anon } })).text()
    try {
      await write("import_map.json", `{"imports":{"words":"./_shared/words.ts"}}`)
      await write("_shared/words.ts", `export const word = "one"`)
      await write("other/index.ts", "this is not deployed (")
      await write(
        "by-command/index.ts",
        `import { word } from "words"\nDeno.serve(() => { console.warn("said", word); return new Response(word) })`
      )
      const first = await functions("deploy", "by-command", "--dir", dir)
      assert.deepStrictEqual([first.code, first.stdout], [0, "by-command  v1\n"], first.stderr)
      assert.strictEqual(await called(), "one")
      await write("_shared/words.ts", `export const word = "two"`)
      const second = await functions("deploy", "by-command", "--dir", dir, "--json")
      assert.deepInclude((JSON.parse(second.stdout) as ReadonlyArray<object>)[0], { name: "by-command", version: 2 })
      await until(called, (text) => text === "two")
      const logs = await until(
        () => functions("logs", "by-command"),
        ({ stdout }) => stdout.includes("said two")
      )
      assert.match(logs.stdout, /^\S+ v1 warn {2}said one\n[^]*v2 warn {2}said two\n$/)
      const back = await functions("rollback", "by-command")
      assert.deepStrictEqual([back.code, back.stdout], [0, "by-command  v1, before v2\n"], back.stderr)
      assert.match((await functions("list")).stdout, /^by-command +v1 /m)
      const none = await functions("rollback", "by-command")
      assert.deepStrictEqual([none.code, none.stderr], [1, "by-command has no version before v1\n"])
      for (const [args, fault] of [
        [["deploy", "nothing", "--dir", dir], /^There is no .*nothing\/index\.ts\n$/],
        [["deploy", "--dir", join(dir, "missing")], /^There is no folder .*--dir\n$/],
        [["deploy", "other", "--dir", dir], /responded with 422: .*other\/index\.ts:1:/s],
        [["rollback", "nothing"], /responded with 404: Function nothing does not exist/]
      ] as const) {
        const { code, stderr } = await functions(...args)
        assert.strictEqual(code, 1)
        assert.match(stderr, fault)
      }
    } finally {
      await rm(dir, { recursive: true })
    }
  })

  it.skipIf(isWithout("deno"))("follow logs until they are ended", async () => {
    const { anon, service_role, url } = inject("service")
    const body = JSON.stringify({
      files: { "index.ts": `Deno.serve(() => { console.log("heard"); return new Response() })` }
    })
    await fetch(`${url}/api/functions/followed`, {
      method: "PUT",
      headers: { apikey: service_role, "content-type": "application/json" },
      body
    })
    const child = spawn(process.execPath, ["dist/svc.mjs", "functions", "logs", "followed", "--follow", "--url", url], {
      cwd: root,
      env: { PATH: process.env["PATH"], ...env() },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    child.stdout.on("data", (text: Buffer) => (output += text.toString()))
    const ended = new Promise((done) => child.once("close", done))
    const call = () => fetch(`${url}/v1/functions/followed`, { headers: { apikey: anon } })
    await until(call, () => output.split("heard").length > 2)
    child.kill("SIGINT")
    await ended
  })

  it("set secrets from standard input, which are never printed", async () => {
    const child = execFile(
      process.execPath,
      ["dist/svc.mjs", "functions", "secrets", "set", "BY_COMMAND", "--url", inject("service").url],
      { cwd: root, env: { PATH: process.env["PATH"] ?? "", ...env() } }
    )
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += String(text)))
    child.stdin?.end("s3cr3t\n")
    assert.strictEqual(await new Promise((done) => child.once("close", done)), 0, output)
    assert.include(output, "BY_COMMAND")
    assert.notInclude(output, "s3cr3t")
    assert.include((await functions("secrets", "list")).stdout, "BY_COMMAND")
    assert.strictEqual((await functions("secrets", "delete", "BY_COMMAND")).stdout, "BY_COMMAND is deleted\n")
  })

  it("list, run, pause and resume schedules by name or id", async () => {
    const { service_role, url } = inject("service")
    const made = await fetch(`${url}/api/schedules`, {
      method: "POST",
      headers: { apikey: service_role, "content-type": "application/json" },
      body: JSON.stringify({ name: "by command", cron: "0 0 1 1 *", target: { type: "sql", sql: "select 1" } })
    })
    const { id } = (await made.json()) as { readonly id: number }
    const schedules = (...args: ReadonlyArray<string>) => svc(["schedules", ...args, "--url", url], env())
    const paused = await schedules("pause", "by command")
    assert.deepStrictEqual([paused.code, paused.stdout], [0, "by command is paused\n"], paused.stderr)
    assert.match((await schedules("list")).stdout, new RegExp(`^${id} +by command +paused `, "m"))
    assert.match((await schedules("resume", String(id))).stdout, /^by command is active, next at \S+\n$/)
    assert.match((await schedules("run", "by command")).stdout, /^The run \d+ of by command has been requested\n$/)
    const none = await schedules("run", "nothing")
    assert.deepStrictEqual(
      [none.code, none.stderr],
      [1, "There is no schedule nothing: svc schedules list shows them\n"]
    )
    await fetch(`${url}/api/schedules/${id}`, { method: "DELETE", headers: { apikey: service_role } })
  })
})

describe("svc start", () => {
  it("runs the service in its own process until SIGTERM", async () => {
    const dataDir = await copyDataDir(inject("preparedDataDir"))
    const child = spawn(process.execPath, ["dist/svc.mjs", "start"], {
      cwd: root,
      env: { PATH: process.env["PATH"], ...testSettings, SVC_DATA_DIR: dataDir },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()))
    const ended = new Promise<number | null>((done) => child.once("close", done))
    try {
      const url = await until(() => Promise.resolve(listeningAt(output)), Boolean, 40_000)
      assert.isDefined(url, output)
      assert.strictEqual((await fetch(`${url}/healthz`)).status, 200)
      assert.strictEqual(Number(await readFile(join(dataDir, "lock.pid"), "utf8")), child.pid)
      child.kill("SIGTERM")
      assert.strictEqual(await ended, 0, output)
    } finally {
      child.kill("SIGKILL")
      await removeDataDir(dataDir)
    }
  })

  const invalid = {
    SVC_WORKERS: "x",
    PORT: "http",
    SVC_DB_POOL_SIZE: "0",
    SVC_SQL_TIMEOUT: "soon",
    S3_FORCE_PATH_STYLE: "always"
  }

  it("names all invalid settings before it touches a directory", async () => {
    const dataDir = await makeDataDir()
    try {
      for (const program of [["dist/svc.mjs", "start"], ["dist/main.mjs"]]) {
        const { code, output } = await runToEnd({ SVC_DATA_DIR: dataDir, ...invalid }, program)
        assert.strictEqual(code, 1, output)
        const lines = output.trimEnd().split("\n")
        assert.sameMembers(
          lines.map((line) => /^svc: ([A-Z0-9_]+) must be /.exec(line)?.[1] ?? line),
          Object.keys(invalid)
        )
        assert.deepStrictEqual(await readdir(dataDir), [])
      }
    } finally {
      await removeDataDir(dataDir)
    }
  })

  it("warns of variables that no setting has", async () => {
    await using service = await startService({ env: { SVC_DB_POOLSIZE: "4" } })
    assert.include(service.output(), "SVC_DB_POOLSIZE is not a setting of the service: the nearest is SVC_DB_POOL_SIZE")
  })
})

describe("svc check", () => {
  it("names all invalid settings, and touches nothing", async () => {
    const env = { SVC_DATA_DIR: "/tmp/svc-check-nothing", PORT: "http", SVC_SQL_TIMEOUT: "soon", SVC_DB_POOLSIZE: "4" }
    const { code, stdout } = await svc(["check", "--json"], env)
    assert.strictEqual(code, 2)
    const { errors, findings, warnings } = JSON.parse(stdout) as {
      readonly errors: number
      readonly warnings: number
      readonly findings: ReadonlyArray<{ readonly part: string; readonly level: string }>
    }
    assert.deepStrictEqual([errors, warnings], [2, 1])
    assert.sameDeepMembers(
      findings.map(({ level, part }) => [level, part]),
      [
        ["error", "PORT"],
        ["error", "SVC_SQL_TIMEOUT"],
        ["warning", "SVC_DB_POOLSIZE"]
      ]
    )
    assert.isFalse(existsSync(env.SVC_DATA_DIR))
  })

  it("finds nothing without settings, beside a running service, and warnings only with exit code 1", async () => {
    const { dataDir } = inject("service")
    assert.deepInclude(await svc(["check"], { SVC_DATA_DIR: dataDir }), { code: 0, stderr: "" })
    const { code, stdout } = await svc(["check"], { SVC_DATA_DIR: dataDir, SVC_UNLIKE_ANYTHING_ELSE: "1" })
    assert.deepStrictEqual([code, stdout.trimEnd().split("\n").at(-1)], [1, "0 errors, 1 warning"])
  })

  it("names each server that does not answer", async () => {
    const { code, stdout } = await svc(["check"], {
      SVC_DATA_DIR: inject("service").dataDir,
      DATABASE_URL: "postgres://app:s3cret@127.0.0.1:1/x",
      S3_ENDPOINT: "http://127.0.0.1:2",
      S3_ACCESS_KEY: "a",
      S3_SECRET_KEY: "s3cret",
      IDP_PUBLIC_URL: "http://127.0.0.1:3",
      OAUTH2_ADMIN_URL: "http://127.0.0.1:4",
      SMTP_URL: "smtp://me:s3cret@127.0.0.1:5",
      FLAGS_HOST: "127.0.0.1",
      FLAGS_HTTP_PORT: "6"
    })
    assert.strictEqual(code, 2)
    for (const [part, port] of [
      "PostgreSQL",
      "Object store",
      "Identity provider",
      "OAuth 2.0 server",
      "Mail server"
    ].entries()) {
      assert.match(stdout, new RegExp(`^✗ ${port}`, "m"), String(part))
    }
    assert.match(stdout, /^✗ flagd/m)
    assert.notInclude(stdout, "s3cret")
  })
})
