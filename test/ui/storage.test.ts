import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { until } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()
const key = service.service_role
let made = 0

const makeBucket = async () => {
  const bucket = `ui-${process.pid}-${++made}`
  const { status, text } = await ask(service, "POST /api/storage/buckets", { key, body: { name: bucket } })
  assert.strictEqual(status, 201, text)
  return bucket
}
const storeText = (bucket: string, name: string, content = "x") =>
  ask(service, `POST /api/storage/buckets/${bucket}/objects/upload-text`, {
    key,
    body: { key: name, content, contentType: "text/plain" }
  })
const keysOf = async (bucket: string) => {
  const { json } = await ask(service, `GET /api/storage/buckets/${bucket}/objects`, { key })
  return (json as { objects: ReadonlyArray<{ key: string }> }).objects.map((object) => object.key)
}

it("a bucket is made, opened to this page without losing its rules, filled, read and emptied", async () => {
  const bucket = `ui-${process.pid}-${++made}`
  const page = await openPage({ store: true })
  // As with a store elsewhere, of which only the rules of a bucket say which pages may use it.
  await page.route("**/api/dashboard/config", async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as object), s3_admits_pages: false } })
  })
  await page.goto(at("/storage"))
  await page.getByRole("button", { name: "Create bucket" }).first().click()
  const form = page.getByRole("dialog", { name: "Create a bucket" })
  await form.getByLabel("Name").fill("No")
  await form.getByRole("button", { name: "Create bucket" }).click()
  await form.getByRole("alert").waitFor()
  await form.getByLabel("Name").fill(bucket)
  await form.getByRole("button", { name: "Create bucket" }).click()
  await page.waitForURL(new RegExp(bucket))
  const own = { AllowedOrigins: ["https://app.example.com"], AllowedMethods: ["GET"] }
  await ask(service, `PUT /api/storage/buckets/${bucket}/cors`, { key, body: { corsRules: [own] } })
  await page.reload()
  await page.getByRole("button", { name: "Allow this page" }).click()
  await page.getByText("accepts uploads from this page").waitFor()
  const cors = await ask(service, `GET /api/storage/buckets/${bucket}/cors`, { key })
  const { corsRules } = cors.json as { corsRules: ReadonlyArray<{ AllowedOrigins: ReadonlyArray<string> }> }
  assert.deepStrictEqual(
    corsRules.map(({ AllowedOrigins }) => AllowedOrigins[0]),
    [new URL(service.url).origin, "https://app.example.com"]
  )

  await page.getByLabel("Files to upload").setInputFiles([
    { name: "🙂 ü%.txt", mimeType: "text/plain", buffer: Buffer.from("Grüße") },
    {
      name: "dot.svg",
      mimeType: "image/svg+xml",
      buffer: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    }
  ])
  await page.getByRole("button", { name: "🙂 ü%.txt", exact: true }).click()
  const preview = page.getByRole("complementary", { name: "File 🙂 ü%.txt" })
  await preview.getByRole("region", { name: "Content" }).getByText("Grüße").waitFor()
  await preview.getByRole("button", { name: "Link…" }).click()
  await page.getByLabel("15 minutes").check()
  await page.getByRole("button", { name: "Make link" }).click()
  const link = (await page.getByRole("dialog", { name: "Presigned link" }).locator("code").textContent()) ?? ""
  assert.strictEqual(await (await fetch(link)).text(), "Grüße")
  await page.getByRole("button", { name: "Close" }).last().click()
  await preview.getByRole("button", { name: "Close", exact: true }).click()

  await page.getByLabel("Select all that are shown").check()
  await page.getByRole("button", { name: "Delete 2 items" }).click()
  await page.getByLabel(`Type ${bucket} to confirm`).fill(bucket)
  await page.getByRole("button", { name: "Delete 2 files" }).click()
  await page.getByText("No files yet").waitFor()
  assert.deepStrictEqual(await keysOf(bucket), [])
})

it("many files are signed by few calls, and the list is not read after each; one that can't be signed fails alone", async () => {
  const bucket = await makeBucket()
  const page = await openPage({ store: true })
  await page.goto(at(`/storage/${bucket}`))
  await page.getByText("No files yet").waitFor()
  const asked: Array<string> = []
  page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`))
  const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(name) })
  const names = Array.from({ length: 120 }, (_, n) => `${String(n).padStart(3, "0")}.txt`)
  await page.getByLabel("Files to upload").setInputFiles(names.map(file))
  await page.getByRole("button", { name: "119.txt", exact: true }).waitFor()
  assert.deepStrictEqual(await keysOf(bucket), names)
  const calls = asked.filter((one) => one.endsWith("/presign-uploads"))
  assert.isAtMost(calls.length, 2)
  const lists = asked.filter((one) => one.startsWith("GET /api/storage") && one.endsWith("/objects"))
  assert.isAtMost(lists.length, 20)

  await page.getByLabel("Files to upload").setInputFiles(["a.txt", `${"x".repeat(1025)}.txt`, "b.txt"].map(file))
  await page.getByRole("region", { name: "Uploads" }).getByRole("alert").waitFor()
  await until(
    () => keysOf(bucket),
    (keys) => keys.length === 122,
    15_000
  )
})

it("folders are opened, listed page by page, and deleted with everything in them", async () => {
  const bucket = await makeBucket()
  const names = Array.from({ length: 230 }, (_, at) => `logs/2026/${String(at).padStart(3, "0")}.txt`)
  for (let from = 0; from < names.length; from += 20) {
    await Promise.all(names.slice(from, from + 20).map((name) => storeText(bucket, name)))
  }
  await storeText(bucket, "keep.txt")
  const page = await openPage({ store: true })
  await page.goto(at(`/storage/${bucket}`))
  await page.getByRole("link", { name: "logs/" }).click()
  await page.getByRole("link", { name: "2026/" }).click()
  await page.getByText("First 200 files").waitFor()
  await page.getByRole("button", { name: "More", exact: true }).click()
  await page.getByText("230 files").waitFor()
  // Left and opened again before it has been read.
  await page.goBack()
  await page.goForward()
  await page.goBack()
  await page.goForward()
  await page.getByText("First 200 files").or(page.getByText("230 files")).waitFor()
  await page.getByRole("navigation", { name: "Folders" }).getByRole("link", { name: bucket }).click()
  await page.getByLabel("Select logs/").check()
  await page.getByRole("button", { name: "Delete 1 item" }).click()
  await page.getByLabel(`Type ${bucket} to confirm`).fill(bucket)
  await page.getByRole("button", { name: "Delete 1 folder" }).click()
  await page.getByText("230 files deleted", { exact: true }).waitFor()
  assert.deepStrictEqual(await keysOf(bucket), ["keep.txt"])
})

it("a folder of 50 files is dropped, with the folders and the names that it has", async () => {
  const bucket = await makeBucket()
  const directory = await mkdtemp(join(tmpdir(), "svc-drop-"))
  const names = Array.from({ length: 49 }, (_, at) => `album/2026/${String(at).padStart(2, "0")}.txt`)
  const all = [...names, "album/ü/🙂.txt"]
  try {
    for (const name of all) {
      await mkdir(dirname(join(directory, name)), { recursive: true })
      await writeFile(join(directory, name), name)
    }
    const page = await openPage({ store: true })
    await page.goto(at(`/storage/${bucket}`))
    await page.getByText("No files yet").waitFor()
    // As from the desktop, which a page can't imitate.
    const devtools = await page.context().newCDPSession(page)
    const data = { items: [], files: [join(directory, "album")], dragOperationsMask: 1 }
    for (const type of ["dragEnter", "dragOver", "drop"] as const)
      await devtools.send("Input.dispatchDragEvent", { type, x: 720, y: 500, data })
    await page.getByRole("link", { name: "album/" }).click()
    await page.getByRole("link", { name: "ü/" }).click()
    await page.getByRole("button", { name: "🙂.txt" }).waitFor()
    const stored = await until(
      () => keysOf(bucket),
      ({ length }) => length === all.length
    )
    assert.sameMembers([...stored], all)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

it("a large file goes up in parts, is resumed where it was cancelled, and leaves nothing when it is given up", async () => {
  const bucket = await makeBucket()
  const page = await openPage({ store: true })
  // 100 MB take their time beside another browser.
  page.setDefaultTimeout(60_000)
  await page.goto(at(`/storage/${bucket}`))
  await page.getByText("No files yet").waitFor()
  await assertCount(page.getByRole("button", { name: "Allow this page" }), 0)
  const size = 101 * 1024 * 1024
  const give = (name: string) =>
    page.evaluate(
      ([name, size]) => {
        const input = document.querySelector<HTMLInputElement>('input[type="file"]')
        const data = new DataTransfer()
        data.items.add(new File([new Uint8Array(size)], name))
        if (input === null) throw new Error("There is no file input")
        input.files = data.files
        input.dispatchEvent(new Event("change", { bubbles: true }))
      },
      [name, size] as const
    )
  // A part that never ends.
  await page.route(/partNumber=3/, () => {})
  const sentParts: Array<string> = []
  page.on("request", (request) => {
    const part = /partNumber=(\d+)/.exec(request.url())?.[1]
    if (request.method() === "PUT" && part !== undefined) sentParts.push(part)
  })
  // From before the upload: several parts go at once.
  const third = page.waitForRequest(/partNumber=3/)
  await give("cancelled.bin")
  await page.getByRole("progressbar", { name: "Progress of cancelled.bin" }).waitFor()
  await third
  await page.waitForFunction(() => (document.querySelector("progress")?.value ?? 0) > 80 * 1024 * 1024)
  await page.getByRole("button", { name: "Cancel cancelled.bin" }).click()
  await page.getByText("cancelled", { exact: true }).waitFor()
  await page.unroute(/partNumber=3/)
  const before = sentParts.length
  await page.getByRole("button", { name: "Resume" }).click()
  await page
    .getByRole("row", { name: /cancelled\.bin/ })
    .getByText("101 MB")
    .waitFor()
  const resumed = sentParts.slice(before)
  assert.include(resumed, "3")
  assert.isBelow(resumed.length, 7, resumed.join())
  assert.deepStrictEqual(await keysOf(bucket), ["cancelled.bin"])

  await page.route(/partNumber=3/, () => {})
  const again = page.waitForRequest(/partNumber=3/)
  await give("given up.bin")
  await again
  await page.getByRole("button", { name: "Cancel given up.bin" }).click()
  const aborted = page.waitForResponse((response) => response.url().endsWith("/multipart/abort"))
  await page.getByRole("button", { name: "Clear finished" }).click()
  assert.strictEqual((await aborted).status(), 200)
  assert.deepStrictEqual(await keysOf(bucket), ["cancelled.bin"])
})

const store = async (bucket: string, name: string, contentType: string, body: Uint8Array<ArrayBuffer> | string) => {
  const path = `/api/storage/buckets/${bucket}/objects/presign-upload`
  const { json } = await ask(service, `POST ${path}`, { key, body: { key: name, contentType } })
  const { headers, url } = json as { url: string; headers: Record<string, string> }
  assert.strictEqual((await fetch(url, { method: "PUT", headers, body })).status, 200)
}
/** A tenth of a second of silence. */
const silence = () => {
  const bytes = Buffer.alloc(44 + 800)
  bytes.write("RIFF", 0)
  bytes.writeUInt32LE(36 + 800, 4)
  bytes.write("WAVEfmt ", 8)
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(8000, 24)
  bytes.writeUInt32LE(8000, 28)
  bytes.writeUInt16LE(1, 32)
  bytes.writeUInt16LE(8, 34)
  bytes.write("data", 36)
  bytes.writeUInt32LE(800, 40)
  return Uint8Array.from(bytes)
}
const pdf =
  "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>"

it("recordings and PDF files are shown by the browser's players, which the page's policy allows", async () => {
  const bucket = await makeBucket()
  await store(bucket, "a.wav", "audio/wav", silence())
  await store(bucket, "b.mp4", "video/mp4", "")
  await store(bucket, "c.pdf", "application/pdf", pdf)
  await store(bucket, "d.bin", "application/octet-stream", "x")
  const page = await openPage({ store: true })
  await page.goto(at(`/storage/${bucket}`))
  await page.getByRole("button", { name: "a.wav", exact: true }).click()
  await page.waitForFunction(() => (document.querySelector("audio")?.duration ?? 0) > 0.09)
  await assertAccessible(page, "a recording")
  await page.getByRole("button", { name: "b.mp4", exact: true }).click()
  await page.waitForFunction(() => document.querySelector("video")?.currentSrc.includes("b.mp4"))
  await page.getByRole("button", { name: "c.pdf", exact: true }).click()
  const frame = page.locator("iframe")
  await frame.waitFor()
  assert.include((await frame.getAttribute("src")) ?? "", "c.pdf")
  await page.getByRole("button", { name: "d.bin", exact: true }).click()
  await page.getByText("Files of this type or size are not shown here").waitFor()
})

it("metadata and tags of a file are changed, and its content stays", async () => {
  const bucket = await makeBucket()
  await store(bucket, "a.txt", "text/plain", "Hello")
  const patch = { key: "a.txt", metadata: { author: "Zoë", old: "1" } }
  await ask(service, `PATCH /api/storage/buckets/${bucket}/objects/metadata`, { key, body: patch })
  const page = await openPage({ store: true })
  await page.goto(at(`/storage/${bucket}`))
  await page.getByRole("button", { name: "a.txt", exact: true }).click()
  const panel = page.getByRole("complementary", { name: "File a.txt" })
  await panel.getByText("Zoë").waitFor()
  await panel.getByRole("button", { name: "Metadata and tags…" }).click()
  const form = page.getByRole("dialog", { name: "Metadata and tags" })
  await form.getByRole("button", { name: "Remove metadata old" }).click()
  await form.getByLabel("Value of metadata 1").fill("Zoë Ångström")
  await form.getByRole("button", { name: "Add metadata" }).click()
  await page.keyboard.type("Author")
  await form.getByText("The name author stands twice.").waitFor()
  await form.getByLabel("Name of metadata 2").fill("stage")
  await form.getByLabel("Value of metadata 2").fill("draft")
  await form.getByRole("button", { name: "Add tag" }).click()
  await page.keyboard.type("team")
  await form.getByLabel("Value of tag 1").fill("<b>")
  await form.getByLabel("Content type").fill("text/markdown")
  await assertAccessible(page, "metadata and tags")
  await form.getByRole("button", { name: "Save" }).click()
  await form.getByText("Not all of it was saved").waitFor()
  await form.getByLabel("Value of tag 1").fill("sales + more")
  await form.getByRole("button", { name: "Save" }).click()
  await panel.getByText("sales + more").waitFor()
  await panel.getByText("text/markdown").waitFor()
  await panel.getByText("Zoë Ångström").waitFor()
  const empty = { key: "a.txt", metadata: {} }
  const { json } = await ask(service, `PATCH /api/storage/buckets/${bucket}/objects/metadata`, { key, body: empty })
  const { content_type, metadata, size } = json as Record<string, unknown>
  assert.deepStrictEqual(
    { content_type, metadata, size },
    { content_type: "text/markdown", metadata: { author: "Zoë Ångström", stage: "draft" }, size: 5 }
  )
})

it("a bucket is opened to everyone by prefix and closed again, and its CORS rules are edited", async () => {
  const bucket = await makeBucket()
  await storeText(bucket, "public/a.txt", "open")
  await storeText(bucket, "b.txt", "closed")
  const { s3_public_origin: origin } = (await ask(service, "GET /api/dashboard/config")).json as {
    s3_public_origin: string
  }
  const status = async (name: string, headers = {}) => {
    const reply = await fetch(`${origin}/${bucket}/${name}`, { headers })
    return [reply.status, reply.headers.get("access-control-allow-origin")]
  }
  const page = await openPage()
  await page.goto(at(`/storage/${bucket}`))
  await page.getByRole("link", { name: "Access" }).click()
  const access = page.getByRole("form", { name: "Access" })
  await access.getByLabel("Access").selectOption("public")
  await access.getByText("Every file of the bucket becomes public.").waitFor()
  await access.getByLabel("Only files that begin with").fill("public/")
  await access.getByRole("button", { name: "Save access" }).click()
  await page.getByText("Access saved").waitFor()
  assert.deepStrictEqual(
    [await status("public/a.txt"), await status("b.txt")].map(([code]) => code),
    [200, 403]
  )
  await page.reload()
  assert.strictEqual(await access.getByLabel("Only files that begin with").inputValue(), "public/")

  const rules = page.getByRole("form", { name: "CORS rules" })
  await rules.getByRole("button", { name: "Rule", exact: true }).click()
  await rules.getByLabel("Origins of pages").fill("https://app.example.com")
  await rules.getByRole("button", { name: "Rule for this dashboard" }).click()
  await assertCount(rules.getByLabel("Origins of pages"), 2)
  await assertAccessible(page, "access and CORS")
  await rules.getByRole("button", { name: "Save rules" }).click()
  await page.getByText("CORS rules saved").waitFor()
  const from = { origin: "https://app.example.com" }
  assert.deepStrictEqual(await status("public/a.txt", from), [200, "https://app.example.com"])

  await access.getByLabel("Access").selectOption("custom")
  await access.getByLabel("Policy").fill('{"Version": "2012-10-17", "Statement": []}')
  await access.getByRole("button", { name: "Save access" }).click()
  await page.getByText("The access was not changed").waitFor()
  await access.getByLabel("Access").selectOption("private")
  await access.getByRole("button", { name: "Save access" }).click()
  const closed = await until(
    async () => (await status("public/a.txt"))[0],
    (code) => code === 403
  )
  assert.strictEqual(closed, 403)
})
