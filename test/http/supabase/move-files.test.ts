import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, it } from "vitest"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { root } from "../../support/service.ts"

let [old, current]: [InProcessService?, InProcessService?] = []
beforeAll(async () => {
  ;[old, current] = await Promise.all([
    serveInProcess({ SVC_SUPABASE: "true" }),
    serveInProcess({ SVC_SUPABASE: "true" })
  ])
})
afterAll(() => Promise.all([old?.[Symbol.asyncDispose](), current?.[Symbol.asyncDispose]()]))

const clientOf = (service: InProcessService | undefined): SupabaseClient =>
  createClient(service?.url ?? "", service?.service_role ?? "", { auth: { persistSession: false } })

const data = async <A>(answer: PromiseLike<{ data: A; error: unknown }>) => {
  const { data, error } = await answer
  assert.isNull(error)
  return data as NonNullable<A>
}

const move = async () => {
  const env = {
    PATH: process.env["PATH"],
    OLD_URL: old?.url,
    OLD_KEY: old?.service_role,
    NEW_URL: current?.url,
    NEW_KEY: current?.service_role
  }
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "examples/move-files/move.mjs")], { env })
  return stdout
}

it("the example's program copies buckets with files of all folders, and goes on where it was interrupted", async () => {
  const [from, to] = [clientOf(old).storage, clientOf(current).storage]
  await data(from.createBucket("avatars", { public: true, fileSizeLimit: 1000, allowedMimeTypes: ["image/png"] }))
  await data(from.createBucket("notes"))
  await data(from.from("avatars").upload("ann/me.png", Buffer.from([1, 2, 3]), { contentType: "image/png" }))
  const large = Buffer.alloc(3 * 1024 * 1024, "a")
  const options = { contentType: "text/plain", cacheControl: "77", metadata: { author: "Ann" } }
  await data(from.from("notes").upload("a/b/long name.txt", large, options))
  await data(from.from("notes").upload("empty.txt", "", { contentType: "text/plain" }))

  assert.strictEqual(await move(), "3 files copied, 0 were there already\n")
  assert.deepInclude(await data(to.getBucket("avatars")), {
    public: true,
    file_size_limit: 1000,
    allowed_mime_types: ["image/png"]
  })
  assert.isFalse((await data(to.getBucket("notes"))).public)
  const copy = await data(to.from("notes").download("a/b/long name.txt"))
  assert.isTrue(large.equals(Buffer.from(await copy.arrayBuffer())))
  assert.deepInclude((await data(to.from("notes").info("a/b/long name.txt"))) as object, {
    contentType: "text/plain",
    cacheControl: "max-age=77",
    metadata: { author: "Ann" }
  })
  const shown = await fetch(to.from("avatars").getPublicUrl("ann/me.png").data.publicUrl)
  assert.deepStrictEqual([...new Uint8Array(await shown.arrayBuffer())], [1, 2, 3])

  await data(to.from("notes").remove(["empty.txt"]))
  assert.strictEqual(await move(), "1 files copied, 2 were there already\n")
})
