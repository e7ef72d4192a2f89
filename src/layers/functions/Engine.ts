import { Effect, Layer, Scope } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from "node:fs/promises"
import { networkInterfaces, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { BadGateway, GatewayTimeout, NotImplemented, Unavailable, Unprocessable } from "../../domain/errors.ts"
import { sourceBytes, type SourceFiles } from "../../domain/functions/Function.ts"
import { deniedNetwork, hasPrivateV6 } from "../../domain/functions/Network.ts"
import { FunctionEngine, type RunnableFunction } from "../../services/ports/functions/FunctionEngine.ts"
import { FunctionSettings } from "../../services/functions/Settings.ts"
import { httpAddress } from "../net/Listener.ts"
import { bootScript } from "./Boot.ts"
import { packed, sourceOf, unpack } from "./Bundle.ts"
import { placeholderHost, serveOwnApi } from "./OwnApi.ts"
import { findDeno } from "./Program.ts"
import { spawnLimited, startProcess, userOf } from "./Process.ts"

const notInstalled = new NotImplemented({
  error: "Functions need Deno, which is not installed",
  code: "FUNCTIONS_NOT_INSTALLED",
  hint: "Run npm install deno in the directory of the service, or set SVC_FUNCTIONS_DENO to the program, and restart the service"
})

/** Deno has no ranges of IPv6 to deny, and what a name resolves to can't be known before. */
const openNetwork = new Unavailable({
  error: "Functions are not run: this machine is in a private network of IPv6, which they could reach",
  code: "FUNCTIONS_NETWORK_OPEN",
  hint: "Set SVC_FUNCTIONS_HOSTS to the hosts that functions need, or to * if they may reach that network"
})

const startMillis = 20_000
const buildMillis = 120_000
const maxOutput = 64 * 1024

/** What Deno itself reads of its environment. */
const denoEnv = (directory: string) => ({
  DENO_DIR: join(directory, "deno"),
  DENO_NO_UPDATE_CHECK: "1",
  DENO_NO_PROMPT: "1",
  NO_COLOR: "1",
  HOME: "/nonexistent"
})

/** How the machine reaches registries, for builds: Deno's own variables, and those that npm and others share. */
const buildVariables = [
  "DENO_TLS_CA_STORE",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "NPM_CONFIG_REGISTRY",
  "JSR_URL",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR"
]

/** The certificates that the operator trusts in addition. */
const certificateEnv = () => {
  const certificates = process.env["DENO_CERT"] ?? process.env["NODE_EXTRA_CA_CERTS"]
  return certificates === undefined ? {} : { DENO_CERT: certificates }
}

const buildEnv = () => {
  const given = buildVariables.map((name) => [name, process.env[name]] as const)
  return {
    ...Object.fromEntries(given.filter((one): one is readonly [string, string] => one[1] !== undefined)),
    ...certificateEnv()
  }
}

const common = ["--no-prompt", "--node-modules-dir=none", "--vendor=false", "--quiet"]

/** Deno grants no access to files below these directories, not even of what it may read. */
const special = /^\/(?:dev|proc|sys)(?:\/|$)/

/** The import map of the older kind, where a function has no deno.json, as Supabase's command finds it. */
const importMapOf = (source: string, entrypoint: string): ReadonlyArray<string> => {
  const near = join(source, dirname(entrypoint))
  if ([near, source].some((folder) => ["deno.json", "deno.jsonc"].some((name) => existsSync(join(folder, name)))))
    return []
  const map = [near, source].map((folder) => join(folder, "import_map.json")).find((path) => existsSync(path))
  return map === undefined ? [] : [`--import-map=${map}`]
}

const makeDirectory = async () => {
  const base = special.test(await realpath(tmpdir())) ? "/tmp" : tmpdir()
  const directory = await realpath(await mkdtemp(join(base, "svc-functions-")))
  await chmod(directory, 0o711)
  for (const name of ["code", "sockets", "builds"]) await mkdir(join(directory, name), { mode: 0o711 })
  await writeFile(join(directory, "boot.js"), bootScript, { mode: 0o644 })
  return directory
}

/** The engine on the npm package `deno`: one process a version, within Deno's permissions and limits of the system. */
export const layerFunctionEngine = Layer.effect(
  FunctionEngine,
  Effect.gen(function* () {
    const settings = yield* FunctionSettings
    const { host, port } = yield* Effect.orDie(httpAddress)
    const program = findDeno(settings.program)
    if (program === undefined) {
      const refused = Effect.fail(notInstalled)
      return FunctionEngine.of({
        installed: false,
        version: refused,
        build: () => refused,
        files: () => refused,
        start: () => refused
      })
    }
    const layerScope = yield* Effect.scope
    const run = promisify(execFile)
    const version = yield* Effect.cached(
      Effect.map(
        Effect.promise(() => run(program, ["--version"], { env: { NO_COLOR: "1" } })),
        ({ stdout }) => stdout.split(/[\n(]/, 1)[0]?.trim() ?? ""
      )
    )

    /** Made at the first use: a service without functions leaves no trace. */
    const directory = yield* Effect.cached(
      Effect.gen(function* () {
        const made = yield* Effect.promise(makeDirectory)
        yield* Scope.addFinalizer(
          layerScope,
          Effect.promise(() => rm(made, { recursive: true, force: true }))
        )
        return made
      }).pipe(Effect.uninterruptible)
    )

    let made = 0
    const slots = new Set<number>()
    const slot = Effect.acquireRelease(
      Effect.sync(() => {
        let free = 0
        while (slots.has(free)) free++
        slots.add(free)
        return free
      }),
      (free) => Effect.sync(() => slots.delete(free))
    )

    /** Runs a command of Deno to its end; Unprocessable with its output if it fails. */
    const command = (at: string, args: ReadonlyArray<string>, number: number) =>
      Effect.callback<string, Unprocessable | GatewayTimeout>((resume) => {
        const child = spawnLimited(program, args, number, {
          cwd: join(at, "src"),
          env: { ...denoEnv(at), ...buildEnv() }
        })
        let [out, errors] = ["", ""]
        child.stdout?.setEncoding("utf8").on("data", (text: string) => {
          if (out.length < maxOutput * 256) out += text
        })
        child.stderr?.setEncoding("utf8").on("data", (text: string) => {
          if (errors.length < maxOutput) errors += text
        })
        const timer = setTimeout(() => {
          resume(
            Effect.fail(
              new GatewayTimeout({
                error: "The imports of the function could not be fetched in time",
                code: "FUNCTION_BUILD_TIMEOUT"
              })
            )
          )
          child.kill("SIGKILL")
        }, buildMillis)
        child.once("error", (cause) => resume(Effect.die(cause)))
        child.once("close", (code) => {
          clearTimeout(timer)
          const text = errors.replaceAll(`file://${at}/src/`, "").replaceAll(`${at}/src/`, "").trim()
          resume(
            code === 0
              ? Effect.succeed(out)
              : Effect.fail(
                  new Unprocessable({
                    error: `The function could not be built: ${text.split("\n")[0]}`,
                    code: "FUNCTION_NOT_BUILT",
                    details: text.slice(0, 4096)
                  })
                )
          )
        })
        return Effect.sync(() => {
          clearTimeout(timer)
          child.kill("SIGKILL")
        })
      })

    const build = Effect.fn("FunctionEngine.build")(function* (files: SourceFiles, entrypoint: string) {
      const root = yield* directory
      const number = yield* slot
      const at = join(root, "builds", String(++made))
      const source = join(at, "src")
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          await mkdir(join(at, "deno"), { recursive: true })
          for (const [path, file] of Object.entries(files)) {
            await mkdir(dirname(join(source, path)), { recursive: true })
            await writeFile(join(source, path), sourceBytes(file))
          }
          const user = userOf(number)
          if (user === undefined) return
          for (const entry of [
            at,
            join(at, "deno"),
            source,
            ...(await readdir(source, { recursive: true })).map((name) => join(source, name))
          ])
            await chown(entry, user.uid, user.gid)
        }),
        () => Effect.promise(() => rm(at, { recursive: true, force: true }))
      )
      const lock = `--lock=${join(source, "deno.lock")}`
      const shared = ["--node-modules-dir=none", "--vendor=false", lock, ...importMapOf(source, entrypoint)]
      yield* command(at, ["cache", "--quiet", ...shared, join(source, entrypoint)], number)
      const graph = yield* command(at, ["info", "--json", ...shared, join(source, entrypoint)], number)
      const outside = modulesOf(graph).find(
        (module) => module.startsWith("file:") && !module.startsWith(`file://${source}/`)
      )
      if (outside !== undefined) {
        return yield* new Unprocessable({
          error: "The function imports a file that is not among its own files",
          code: "FUNCTION_NOT_BUILT",
          details: outside.slice(0, 500)
        })
      }
      return yield* Effect.tryPromise({
        try: () => packed(at),
        catch: () =>
          new Unprocessable({
            error: "The files of the function and its imports exceed 200 MiB",
            code: "FUNCTION_NOT_BUILT"
          })
      })
    }, Effect.scoped)

    /** Unpacks a bundle once for all of its processes. */
    const unpacking = new Map<string, Promise<string>>()
    const codeOf = ({ bundle, digest }: RunnableFunction, root: string) => {
      const at = join(root, "code", digest)
      return Effect.gen(function* () {
        const known = unpacking.get(digest)
        if (known !== undefined) return yield* Effect.promise(() => known)
        const bytes = yield* bundle
        const work =
          unpacking.get(digest) ??
          unpack(bytes, `${at}.new`)
            .then(() => rename(`${at}.new`, at))
            .then(() => at)
        unpacking.set(digest, work)
        return yield* Effect.tryPromise({
          try: () => work,
          catch: () => {
            unpacking.delete(digest)
            return new BadGateway({
              error: "The stored files of the function are damaged: deploy it again",
              code: "FUNCTION_FAILED"
            })
          }
        })
      })
    }

    const start = Effect.fn("FunctionEngine.start")(function* (runnable: RunnableFunction) {
      const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address))
      if (settings.hosts === undefined && hasPrivateV6(addresses)) return yield* openNetwork
      const root = yield* directory
      const at = yield* codeOf(runnable, root)
      const number = yield* slot
      const source = join(at, "src")
      const own = join(root, "sockets", String(++made))
      const [socket, apiFolder] = [join(own, "s"), join(own, "api")]
      const api = join(apiFolder, "s")
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          await mkdir(apiFolder, { recursive: true, mode: 0o755 })
          const server = serveOwnApi(host, port, new URL(settings.url).host)
          await new Promise<void>((done) => server.listen(api, done))
          await chmod(api, 0o666)
          // The function may write to the socket, which Deno can't tell from replacing it.
          await chmod(apiFolder, 0o555)
          const user = userOf(number)
          if (user !== undefined) await chown(own, user.uid, user.gid)
          await chmod(own, 0o700)
          return server
        }),
        (server) =>
          Effect.promise(async () => {
            server.close()
            server.closeAllConnections()
            // The engine may have removed its whole directory already.
            await chmod(apiFolder, 0o755).catch(() => undefined)
            await rm(own, { recursive: true, force: true })
          })
      )
      const names = Object.keys(runnable.env)
      const args = [
        "run",
        ...common,
        "--cached-only",
        "--no-code-cache",
        `--lock=${join(source, "deno.lock")}`,
        "--frozen",
        ...importMapOf(source, runnable.entrypoint),
        `--v8-flags=--max-old-space-size=${settings.memory}`,
        ...(names.length === 0 ? [] : [`--allow-env=${names.join(",")}`]),
        "--ignore-env",
        settings.hosts === undefined || settings.hosts === "*"
          ? "--allow-net"
          : `--allow-net=${[`unix:${socket}`, `unix:${api}`, placeholderHost, ...settings.hosts].join(",")}`,
        `--deny-net=${deniedNetwork(addresses).join(",")}`,
        // Packages read files beside their code, such as WebAssembly.
        `--allow-read=${[source, join(at, "deno", "npm"), socket, api].join(",")}`,
        `--allow-write=${[socket, api].join(",")}`,
        `--preload=${join(root, "boot.js")}`,
        join(source, runnable.entrypoint),
        socket,
        api,
        settings.url,
        settings.url
      ]
      const child = yield* Effect.sync(() =>
        spawnLimited(program, args, number, {
          cwd: source,
          env: { ...denoEnv(at), ...certificateEnv(), ...runnable.env }
        })
      )
      const process = yield* startProcess(child, {
        limit: settings.timeout,
        // Where the files are on this machine says nothing to their author.
        printed: (line) => runnable.printed({ ...line, text: line.text.replaceAll(`file://${source}/`, "") }),
        socket,
        startMillis
      })
      // The service connects to it as root, or as the same user.
      if (!(yield* Effect.promise(async () => (await lstat(socket).catch(() => undefined))?.isSocket() === true)))
        return yield* new Unavailable({ error: "The function has no socket" })
      return process
    })

    const files = (bundle: Uint8Array) => Effect.promise(() => sourceOf(bundle))
    return FunctionEngine.of({ installed: true, version, build, files, start })
  })
)

/** The modules of a graph, by the output of `deno info --json`. */
const modulesOf = (graph: string): ReadonlyArray<string> => {
  const { modules = [] } = JSON.parse(graph) as {
    readonly modules?: ReadonlyArray<{ readonly specifier?: string; readonly local?: string | null }>
  }
  return modules.flatMap(({ specifier }) => (specifier === undefined ? [] : [specifier]))
}
