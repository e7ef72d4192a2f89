import { type createClient, type SupabaseClient } from "@supabase/supabase-js"
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, it } from "vitest"
import { build, preview, type PreviewServer } from "vite"
import { ask, sql } from "../support/client.ts"
import { makeDataDir, removeDataDir } from "../support/dataDir.ts"
import { freePort } from "../../bench/support/freePort.ts"
import { onTerminal, root, runToEnd, type Service, startService, testSettings, until } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()

/** Of the page, which loads the client as a script. */
declare const supabase: { createClient: typeof createClient }
declare const first: SupabaseClient
declare const second: SupabaseClient

const example = join(root, "examples/todo")
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

let directory: string
let service: Service
let server: PreviewServer
let app: string
beforeAll(async () => {
  const port = await freePort()
  // Passkeys need a host name.
  app = `http://localhost:${port}/`
  service = await startService({
    env: {
      SVC_SUPABASE: "true",
      SVC_WEBAUTHN_ORIGINS: new URL(app).origin,
      MIGRATIONS_DIR: join(example, "supabase/migrations")
    }
  })
  const { status, text } = await ask(service, "POST /api/migrations/idempotent/run", { key: service.service_role })
  assert.strictEqual(status, 200, text)
  directory = await mkdtemp(join(tmpdir(), "svc-example-"))
  await writeFile(join(directory, ".env"), `VITE_SUPABASE_URL=${service.url}\nVITE_SUPABASE_KEY=${service.anon}\n`)
  const files = { outDir: join(directory, "dist"), emptyOutDir: true }
  await build({ root: example, envDir: directory, build: files, logLevel: "error" })
  const at = { host: "127.0.0.1", port, strictPort: true }
  server = await preview({ root: example, build: files, preview: at, logLevel: "error" })
})
afterAll(async () => {
  await server.close()
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const openApp = async () => {
  const page = await openPage({ on: service, signedIn: false, app: new URL(app).origin })
  await page.goto(app)
  return page
}

const enter = async (page: Page, person: string, button: "Sign in" | "Sign up") => {
  await page.getByLabel("Name").fill(button === "Sign up" ? person : "")
  await page.getByLabel("E-mail").fill(`${person.toLowerCase()}@example.com`)
  await page.getByLabel("Password").fill("four common words")
  await page.getByRole("button", { name: button }).click()
  await page.getByText(`Signed in as ${person}`).waitFor()
}

const items = (page: Page) => page.locator("#todos li")

it("the example's people have private, live lists, avatars, and see each other", async () => {
  const [phone, laptop, other] = [await openApp(), await openApp(), await openApp()]
  await assertAccessible(phone, "signed out")
  await enter(phone, "Ann", "Sign up")
  await enter(laptop, "Ann", "Sign in")
  await enter(other, "Ben", "Sign up")
  await other.getByText("Online: Ann, Ben").waitFor()
  await phone.getByText("Online: Ann, Ben").waitFor()

  await phone.getByLabel("New to-do").fill("Buy milk")
  await phone.getByRole("button", { name: "Add" }).click()
  await laptop.getByRole("checkbox", { name: "Buy milk" }).check()
  await phone.getByRole("checkbox", { name: "Buy milk", checked: true }).waitFor()
  await other.getByLabel("New to-do").fill("Sell milk")
  await other.getByRole("button", { name: "Add" }).click()
  await items(other).getByText("Sell milk").waitFor()
  await assertCount(items(other), 1)
  await assertCount(items(phone), 1)

  await phone.getByLabel("Avatar").setInputFiles({ name: "me.png", mimeType: "image/png", buffer: png })
  const avatar = phone.getByAltText("Your avatar")
  await avatar.waitFor()
  await phone.waitForFunction(() => document.querySelector<HTMLImageElement>("#avatar")?.naturalWidth === 1)
  await assertAccessible(phone, "signed in")

  await phone.getByLabel("Delete Buy milk").click()
  await items(laptop).waitFor({ state: "detached" })
  await other.getByRole("button", { name: "Sign out" }).click()
  await phone.getByText(/^Online: Ann$/).waitFor()
  // A session is kept over a reload.
  await phone.reload()
  await phone.getByText("Signed in as Ann").waitFor()
})

it("a page signs in by a passkey, and confirms it by a security key", async () => {
  const page = await openApp()
  const devtools = await page.context().newCDPSession(page)
  await devtools.send("WebAuthn.enable")
  const plugIn = async (transport: "internal" | "usb", verifies: boolean) => {
    const capable = { hasResidentKey: verifies, hasUserVerification: verifies, isUserVerified: verifies }
    const options = { protocol: "ctap2" as const, transport, ...capable }
    return devtools.send("WebAuthn.addVirtualAuthenticator", { options })
  }
  await page.addScriptTag({ path: join(root, "node_modules/@supabase/supabase-js/dist/umd/supabase.js") })
  const { authenticatorId } = await plugIn("internal", true)
  await page.evaluate(
    async ([url, key]) => {
      const [first, second] = ["first", "second"].map((storageKey) =>
        supabase.createClient(url, key, { auth: { storageKey } })
      ) as [SupabaseClient, SupabaseClient]
      for (const attempt of [
        () => first.auth.signUp({ email: "key@example.com", password: "four common words" }),
        () => first.auth.registerPasskey(),
        () => second.auth.signInWithPasskey()
      ]) {
        const { error } = await attempt()
        if (error !== null) throw error
      }
      Object.assign(globalThis, { first, second })
    },
    [service.url, service.anon] as const
  )
  await devtools.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId })
  await plugIn("usb", false)
  const levels = await page.evaluate(async () => {
    const added = await first.auth.mfa.webauthn.register({ friendlyName: "Key" })
    if (added.error !== null) throw added.error
    // The session of before the first factor has ended.
    const ended = await second.auth.getUser()
    const again = await second.auth.signInWithPassword({ email: "key@example.com", password: "four common words" })
    if (again.error !== null) throw again.error
    const before = await second.auth.mfa.getAuthenticatorAssuranceLevel()
    const { data } = await second.auth.mfa.listFactors()
    const shown = await second.auth.mfa.webauthn.authenticate({ factorId: data?.webauthn[0]?.id ?? "" })
    if (shown.error !== null) throw shown.error
    const after = await second.auth.mfa.getAuthenticatorAssuranceLevel()
    return [ended.error === null, before.data?.currentLevel, before.data?.nextLevel, after.data?.currentLevel]
  })
  assert.deepStrictEqual(levels, [false, "aal1", "aal2", "aal2"])
})

/** What the example may make, by name. */
const lists = {
  tables: "select table_schema || '.' || table_name as name from information_schema.tables",
  functions: "select oid::regprocedure::text as name from pg_proc where pronamespace = 'public'::regnamespace",
  triggers: "select tgrelid::regclass || ' ' || tgname as name from pg_trigger where not tgisinternal",
  policies: "select tablename || ' ' || policyname as name from pg_policies",
  published: "select schemaname || '.' || tablename as name from pg_publication_tables",
  users: "select email as name from auth.users",
  accounts: "select value as name from svc.identity_addresses",
  buckets: "select name from storage.buckets",
  objects: "select name from storage.objects",
  flags: "select key as name from svc.flags",
  keys: "select label as name from svc.api_keys",
  settings: "select name from svc.settings"
}

it(
  "svc start --example makes the example once, and svc example remove removes it alone",
  { timeout: 180_000 },
  async () => {
    const dataDir = await makeDataDir()
    const env = { ...testSettings, SVC_DATA_DIR: dataDir, S3_EMBEDDED_PORT: String(await freePort()) }
    const example = ["dist/svc.mjs", "start", "--example", "todo"]
    const start = (program: ReadonlyArray<string>, further = {}) =>
      startService({ dataDir, program, jwtSecret: "", env: { ...env, ...further } })
    const plain = () => start(["dist/svc.mjs", "start"], { SVC_SUPABASE: "true" })
    const everything = async (service: Service) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(lists).map(async ([what, text]) => [
            what,
            (await sql(service, text)).map(({ name }) => String(name)).sort()
          ])
        )
      ) as Record<keyof typeof lists, ReadonlyArray<string>>
    const remove = (args: ReadonlyArray<string>, { input = "", ...further }: Readonly<Record<string, string>> = {}) =>
      new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
        const options = { cwd: root, env: { PATH: process.env["PATH"], ...env, SVC_SUPABASE: "true", ...further } }
        const child = execFile(
          process.execPath,
          ["dist/svc.mjs", "example", "remove", "todo", ...args],
          options,
          (error, stdout, stderr) => done({ code: error?.code ?? 0, stdout, stderr })
        )
        child.stdin?.end(input)
      })
    /** The summary is printed once the service is ready. */
    const printed = async (service: Service, text: string) =>
      assert.include(
        await until(
          async () => service.output(),
          (output) => output.includes(text)
        ),
        text
      )
    const signIn = async (service: Service, key: string, email: string, password: string) =>
      (await ask(service, "POST /auth/v1/token?grant_type=password", { key, body: { email, password } })).status

    let running: Service | undefined
    try {
      running = await plain()
      await sql(running, "create table public.notes (id int primary key)")
      await sql(running, "insert into storage.buckets (id, name) values ('mine', 'mine')")
      const before = await everything(running)
      assert.strictEqual((await ask(running, "GET /example/")).status, 404)
      await sql(running, "create table public.todos (id int primary key)")
      await running.stop()

      const refused = await runToEnd({ ...env, SVC_JWT_SECRET: "" }, example)
      assert.strictEqual(refused.code, 1)
      assert.include(
        refused.output,
        'svc: The example todo can\'t be made: relation "todos" already exists. Correct that, or start without --example\n'
      )
      const off = await runToEnd({ ...env, SVC_SUPABASE: "false" }, example)
      assert.deepStrictEqual([off.code, off.output], [1, "svc: SVC_EXAMPLE requires SVC_SUPABASE=true\n"])

      running = await plain()
      await sql(running, "drop table public.todos")
      assert.deepStrictEqual(await everything(running), before)
      await running.stop()

      running = await start(example, onTerminal)
      await printed(running, `${running.url}/example/`)
      const people = Array.from(running.output().matchAll(/^ +(\w+@todo\.example) {2}([\w-]{16})$/gm), (match) => match)
      assert.deepStrictEqual(
        people.map(([, email]) => email),
        ["ann@todo.example", "ben@todo.example"]
      )
      const [[, email = "", password = ""] = []] = people
      const made = await everything(running)
      assert.includeMembers([...made.tables], ["public.todos", "public.profiles"])
      assert.deepStrictEqual(made.flags, ["example-todo"])
      assert.strictEqual(made.objects.length, 2)

      for (const colorScheme of ["light", "dark"] as const) {
        const page = await openPage({ on: running, signedIn: false, colorScheme })
        await page.goto(`${running.url}/example/`)
        await assertAccessible(page, `signed out, ${colorScheme}`)
        await page.getByLabel("E-mail").fill(email)
        await page.getByLabel("Password").fill(password)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByText("Signed in as Ann").waitFor()
        await page.getByRole("checkbox", { name: "Start the example", checked: true }).waitFor()
        await assertCount(page.getByText("Sign in as Ben"), 0)
        await page.waitForFunction(() => document.querySelector<HTMLImageElement>("#avatar")?.naturalWidth === 1)
        await page.getByLabel("New to-do").fill(`Look at it in ${colorScheme}`)
        await page.getByRole("button", { name: "Add", exact: true }).click()
        await items(page).getByText(`Look at it in ${colorScheme}`).waitFor()
        await assertAccessible(page, `signed in, ${colorScheme}`)
        // It would complain that the service ends.
        await page.goto("about:blank")
      }
      await running.stop()

      running = await start(example)
      assert.notInclude(running.output(), "was made")
      await printed(running, `Example: ${running.url}/example/`)
      const { json } = await ask(running, "GET /example/key.json")
      const { key, ...more } = json as { readonly key: string }
      assert.deepStrictEqual([key.slice(0, 7), more], ["svc_pk_", {}])
      for (const path of ["20260101000000_todos.sql", "index.html", "../keys.json", "assets/../../index.html"]) {
        assert.strictEqual((await fetch(`${running.url}/example/${encodeURIComponent(path)}`)).status, 404, path)
      }
      const page = await fetch(`${running.url}/example/`)
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.notMatch(policy, /unsafe|http|\*/)
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        assert.include(policy, rule)
      }
      assert.strictEqual(await signIn(running, key, email, password), 200)
      assert.deepStrictEqual(await everything(running), made)

      // What the user made with it, which is not removed.
      await sql(running, "create table public.reminders (todo bigint references public.todos)")
      const kept = await remove(["--yes"])
      assert.deepStrictEqual([kept.code, kept.stdout], [1, ""])
      assert.match(
        kept.stderr,
        /^svc: The example todo can't be removed: .*constraint reminders_todo_fkey.* depends on/
      )
      assert.include((await everything(running)).tables, "public.todos")
      assert.strictEqual(await signIn(running, key, email, password), 200)
      await sql(running, "drop table public.reminders")

      assert.deepStrictEqual(await remove([]), {
        code: 2,
        stdout: "",
        stderr: "svc: Without a terminal, example remove needs --yes\n"
      })
      const onStdin = { NODE_OPTIONS: "--import=data:text/javascript,process.stdin.isTTY=true" }
      assert.strictEqual((await remove([], { ...onStdin, input: "n\n" })).stdout, "Nothing was removed\n")
      assert.deepStrictEqual(await everything(running), made)
      const removed = await remove(["--yes", "--json"])
      assert.deepStrictEqual(JSON.parse(removed.stdout || removed.stderr), { example: "todo", removed: true })
      assert.deepStrictEqual(await everything(running), before)
      assert.strictEqual((await ask(running, "GET /example/")).status, 404)
      assert.strictEqual((await ask(running, "GET /example/key.json")).status, 404)
      assert.strictEqual(await signIn(running, key, email, password), 401)
      await running.stop()

      running = await start(example)
      await printed(running, `Example: ${running.url}/example/`)
      assert.include(running.output(), "The example todo was made")
      assert.notMatch(running.output(), /password.*[\w-]{16}$/m)
      await running.stop()
      assert.strictEqual((await remove([], { ...onStdin, input: "y\n" })).stdout, "The example todo was removed\n")
      assert.strictEqual((await remove(["--yes"])).stdout, "There is no example todo\n")
      running = await plain()
      assert.deepStrictEqual(await everything(running), before)
      await running.stop()
    } finally {
      await running?.stop()
      await removeDataDir(dataDir)
    }
  }
)
