import { assert, inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

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
  await page.getByRole("navigation", { name: "Folders" }).getByRole("link", { name: bucket }).click()
  await page.getByLabel("Select logs/").check()
  await page.getByRole("button", { name: "Delete 1 item" }).click()
  await page.getByLabel(`Type ${bucket} to confirm`).fill(bucket)
  await page.getByRole("button", { name: "Delete 1 folder" }).click()
  await page.getByText("230 files deleted", { exact: true }).waitFor()
  assert.deepStrictEqual(await keysOf(bucket), ["keep.txt"])
})

it("a large file goes up in parts, and nothing of a cancelled one is left", async () => {
  const bucket = await makeBucket()
  const page = await openPage({ store: true })
  await page.goto(at(`/storage/${bucket}`))
  await page.getByRole("button", { name: "Allow this page" }).click()
  await page.getByRole("button", { name: "Allow this page" }).waitFor({ state: "detached" })
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
  await give("large.bin")
  await page
    .getByRole("row", { name: /large\.bin/ })
    .getByText("101 MB")
    .waitFor()
  // A part that never ends.
  await page.route(/partNumber=3/, () => {})
  const aborted = page.waitForResponse((response) => response.url().endsWith("/multipart/abort"))
  await give("cancelled.bin")
  await page.getByRole("progressbar", { name: "Progress of cancelled.bin" }).waitFor()
  await page.waitForRequest(/partNumber=3/)
  await page.getByRole("button", { name: "Cancel cancelled.bin" }).click()
  assert.strictEqual((await aborted).status(), 200)
  await page.getByText("cancelled", { exact: true }).waitFor()
  assert.deepStrictEqual(await keysOf(bucket), ["large.bin"])
})
