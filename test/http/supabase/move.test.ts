import { hash } from "@node-rs/bcrypt"
import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { execFile } from "node:child_process"
import { mkdtemp, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { type FakeOidc, startFakeOidc } from "../../fakes/identity/oidc.ts"
import { ask, sql } from "../../support/client.ts"
import { readGuide } from "../../support/docs/readme.ts"
import { place } from "../../support/dumps/native.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { ok } from "../../support/identity/supabase.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { root } from "../../support/service.ts"

let oidc: FakeOidc
/** The project, with the tables, policies and triggers of the example; and where it moves to. */
let [old, current]: [InProcessService?, InProcessService?] = []
let directory: string
let env: Record<string, string | undefined>

const password = "correct horse battery"
const [ann, ben] = [freshEmail(), freshEmail()]
const subject = crypto.randomUUID()
const avatar = Buffer.from([1, 2, 3])
const large = Buffer.alloc(3 * 1024 * 1024, "a")
let annId = ""

const clientOf = (service: InProcessService | undefined, role: "anon" | "service_role" = "anon"): SupabaseClient =>
  createClient(service?.url ?? "", service?.[role] ?? "", { auth: { persistSession: false, autoRefreshToken: false } })
const enter = async (service: InProcessService | undefined, email: string) => {
  const supabase = clientOf(service)
  ok(await supabase.auth.signInWithPassword({ email, password }))
  return supabase
}

/** What a project has: people, rows, files under policies. */
const fill = async (service: InProcessService) => {
  const { status, text } = await ask(service, "POST /api/migrations/idempotent/run", { key: service.service_role })
  assert.strictEqual(status, 200, text)
  for (const statement of [
    "alter table todos add column code uuid default extensions.uuid_generate_v4()",
    "grant all on todos to service_role",
    "alter default privileges in schema public grant all on tables to anon, authenticated, service_role",
    `create policy "Own notes" on storage.objects to authenticated using (bucket_id = 'notes' and owner_id = (select auth.uid()::text)) with check (bucket_id = 'notes')`,
    `create policy "My room" on realtime.messages for select to authenticated using (realtime.topic() = (select auth.uid()::text))`
  ]) {
    await sql(service, statement)
  }
  const { auth, storage } = clientOf(service, "service_role")
  const password_hash = await hash(password, 4)
  for (const [email, name] of [
    [ann, "Ann"],
    [ben, "Ben"]
  ] as const) {
    ok(await auth.admin.createUser({ email, password_hash, email_confirm: true, user_metadata: { name } }))
  }
  ok(await storage.createBucket("notes"))
  ok(await storage.createBucket("empty", { public: false, fileSizeLimit: 1000, allowedMimeTypes: ["image/png"] }))
  const supabase = await enter(service, ann)
  annId = ok(await supabase.auth.getUser()).user.id
  ok(
    await supabase.from("todos").insert([
      { title: "Buy milk", done: false },
      { title: "Sell milk", done: true }
    ])
  )
  ok(await supabase.storage.from("avatars").upload(`${annId}/me.png`, avatar, { contentType: "image/png" }))
  ok(
    await supabase
      .from("profiles")
      .update({ avatar: `${annId}/me.png` })
      .eq("id", annId)
  )
  const note = { contentType: "text/plain", cacheControl: "77", metadata: { author: "Ann" } }
  ok(await supabase.storage.from("notes").upload("a/b/long name.txt", large, note))
  ok(await supabase.storage.from("notes").upload("nothing.txt", "", { contentType: "text/plain" }))
  await sql(
    service,
    "insert into auth.identities (provider_id, user_id, provider, identity_data) values ($1, $2, 'google', '{}')",
    [subject, annId]
  )
  ok(
    await auth.admin.updateUserById(ok(await (await enter(service, ben)).auth.getUser()).user.id, {
      ban_duration: "1h"
    })
  )
}

beforeAll(async () => {
  oidc = await startFakeOidc()
  ;[old, current] = await Promise.all([
    serveInProcess({ SVC_SUPABASE: "true", MIGRATIONS_DIR: join(root, "examples/todo/supabase/migrations") }),
    serveInProcess({
      SVC_SUPABASE: "true",
      SVC_SIGN_IN_WITH: "google",
      SVC_SIGN_IN_GOOGLE_ISSUER: oidc.url,
      SVC_SIGN_IN_GOOGLE_CLIENT_ID: "web"
    })
  ])
  directory = await mkdtemp(join(tmpdir(), "svc-move-"))
  await symlink(join(root, "examples"), join(directory, "examples"))
  env = {
    PATH: `${place ?? ""}:${process.env["PATH"] ?? ""}`,
    SUPABASE_URL: old.databaseUrl,
    OLD_URL: old.url,
    OLD_KEY: old.service_role,
    NEW_URL: current.url,
    NEW_KEY: current.service_role,
    DATABASE_URL: current.databaseUrl,
    SVC_DATA_DIR: current.dataDir
  }
  await fill(old)
})
afterAll(async () => {
  await Promise.all([old?.[Symbol.asyncDispose](), current?.[Symbol.asyncDispose](), oidc[Symbol.asyncDispose]()])
  await rm(directory, { recursive: true })
})

/** Runs commands as a reader does, of whom only the directory is another: `npm run psql` is the program that it runs. */
const shell = async (commands: string) => {
  const npm = `npm() { shift 3; node ${root}/src/layers/command/svc.ts psql "$@"; }`
  return promisify(execFile)("bash", ["-c", `set -e -o pipefail\n${npm}\n${commands}`], { env, cwd: directory })
}

describe.skipIf(place === undefined)("a project that was moved by the commands of the guide", () => {
  beforeAll(async () => {
    const guide = await readGuide("docs/supabase.md")
    const [, commands = ""] = /## Moving a project\n[^]*?```sh\n([^]*?)```/.exec(guide) ?? []
    const { stderr, stdout } = await shell(commands)
    assert.include(stdout, "3 files copied, 0 were there already\n")
    const errors = stderr.split("\n").filter((line) => line.includes("ERROR"))
    assert.deepStrictEqual(
      errors.map((line) => line.replace(/^.*ERROR: +/, "")),
      ['schema "public" already exists']
    )
  }, 60_000)

  it("has its people, who sign in as before", async () => {
    const supabase = await enter(current, ann)
    const { user } = ok(await supabase.auth.getUser())
    assert.deepInclude(user, { id: annId, email: ann })
    assert.deepInclude(user.user_metadata, { name: "Ann" })
    const token = await oidc.issue({ sub: subject, email: "another@example.com" })
    const byGoogle = ok(await clientOf(current).auth.signInWithIdToken({ provider: "google", token }))
    assert.strictEqual(byGoogle.user.id, annId)
    const banned = await clientOf(current).auth.signInWithPassword({ email: ben, password })
    assert.strictEqual(banned.error?.code, "user_banned")
  })

  it("has private rows, live, and profiles for new people", async () => {
    const [phone, laptop] = [await enter(current, ann), await enter(current, ann)]
    const list = ok(await phone.from("todos").select("title, done").order("id"))
    assert.deepStrictEqual(list, [
      { title: "Buy milk", done: false },
      { title: "Sell milk", done: true }
    ])
    assert.deepStrictEqual(ok(await phone.from("profiles").select("name, avatar").eq("id", annId)), [
      { name: "Ann", avatar: `${annId}/me.png` }
    ])
    const stranger = clientOf(current)
    const email = freshEmail()
    ok(await stranger.auth.signUp({ email, password, options: { data: { name: "Eve" } } }))
    assert.deepStrictEqual(ok(await stranger.from("todos").select()), [])
    assert.strictEqual(ok(await stranger.from("profiles").select().eq("name", "Eve"))?.length, 1)

    const heard: Array<string> = []
    const listen = (supabase: SupabaseClient, name: string) =>
      new Promise<void>((subscribed, failed) =>
        supabase
          .channel(`todos of ${name}`)
          .on("postgres_changes", { event: "INSERT", schema: "public", table: "todos" }, ({ new: row }) =>
            heard.push(`${name} ${String((row as { title: unknown }).title)}`)
          )
          .on("system", {}, ({ message, status }: { message: string; status: string }) =>
            status === "ok" ? subscribed() : failed(new Error(message))
          )
          .subscribe()
      )
    await Promise.all([listen(laptop, "Ann"), listen(stranger, "Eve")])
    ok(await phone.from("todos").insert({ title: "Drink milk" }))
    ok(await stranger.from("todos").insert({ title: "Pour milk" }))
    await vi.waitFor(() => assert.strictEqual(heard.length, 2), 10_000)
    assert.deepStrictEqual(heard.toSorted(), ["Ann Drink milk", "Eve Pour milk"])
    await Promise.all([laptop.removeAllChannels(), stranger.removeAllChannels()])
  })

  it("has its files, under its policies", async () => {
    const supabase = await enter(current, ann)
    const { publicUrl } = supabase.storage.from("avatars").getPublicUrl(`${annId}/me.png`).data
    assert.deepStrictEqual(Buffer.from(await (await fetch(publicUrl)).arrayBuffer()), avatar)
    const notes = supabase.storage.from("notes")
    assert.isTrue(large.equals(Buffer.from(await ok(await notes.download("a/b/long name.txt")).arrayBuffer())))
    assert.deepInclude(ok(await notes.info("a/b/long name.txt")) as object, {
      contentType: "text/plain",
      cacheControl: "max-age=77",
      metadata: { author: "Ann" }
    })
    const other = clientOf(current)
    ok(await other.auth.signUp({ email: freshEmail(), password }))
    assert.isNotNull((await other.storage.from("notes").download("a/b/long name.txt")).error)
    const foreign = await other.storage.from("avatars").upload(`${annId}/you.png`, avatar, { contentType: "image/png" })
    assert.match(foreign.error?.message ?? "", /row-level security/)
    const policies = "select count(*)::int as n from pg_policies where schemaname in ('storage', 'realtime')"
    assert.deepStrictEqual(await sql(current!, policies), await sql(old!, policies))
    const { storage } = clientOf(current, "service_role")
    assert.deepInclude(ok(await storage.getBucket("empty")), {
      public: false,
      file_size_limit: 1000,
      allowed_mime_types: ["image/png"]
    })

    ok(await storage.from("notes").remove(["nothing.txt"]))
    const again = await shell("node examples/move-files/move.mjs")
    assert.strictEqual(again.stdout, "1 files copied, 2 were there already\n")
  })
})
