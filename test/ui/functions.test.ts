import { randomBytes } from "node:crypto"
import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, describe, test } from "vitest"
import { ask } from "../support/client.ts"
import { isWithout } from "../support/skips.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertKeyboard } from "../support/ui/keyboard.ts"
import { checkStates } from "../support/ui/states.ts"

const it = test.skipIf(isWithout("deno"))
checkPages()
let service: Service
let without: Service
beforeAll(async () => {
  service = await startService({ env: { SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex") } })
  without = await startService({ env: { SVC_FUNCTIONS_DENO: "/nowhere/deno" } })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await without[Symbol.asyncDispose]()
})

const editor = (page: Page, path = "index.ts") => page.getByRole("textbox", { name: `Code of ${path}` })
const write = async (page: Page, text: string, path?: string) => {
  await editor(page, path).click()
  await page.keyboard.press("Control+a")
  await page.keyboard.insertText(text)
}
const part = (page: Page, name: string) => page.getByRole("region", { name, exact: true })

it("a function is created, edited in several files, deployed, tried as callers, and rolled back", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/functions", service))
  await page.getByText("No functions").waitFor()
  await page.getByRole("button", { name: "Create function" }).click()
  const form = page.getByRole("dialog", { name: "Create a function" })
  await form.getByLabel("Name", { exact: true }).fill("1st")
  await form.getByRole("button", { name: "Create function" }).click()
  await form.getByRole("alert").getByText("A letter, then").waitFor()
  await form.getByLabel("Name", { exact: true }).fill("hello")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "hello", exact: true }).waitFor()

  const attempt = part(page, "Try")
  await attempt.getByLabel("Body", { exact: true }).fill(`{"name": "Ann"}`)
  await attempt.getByRole("button", { name: "Call" }).click()
  await attempt.getByText('"message": "Hello Ann!"').waitFor()
  await attempt.getByText("200", { exact: true }).waitFor()
  await part(page, "Logs").getByText("called by service_role").waitFor()

  await page.getByRole("button", { name: "Add file" }).click()
  await page.getByRole("dialog").getByLabel("Path").fill("lib/answer.ts")
  await page.keyboard.press("Enter")
  await write(
    page,
    `export const answer = (role: string | null) => {\n  if (role === "anon") throw new Error("not for you")\n  return new Response("for " + role, { status: 201 })\n}\n`,
    "lib/answer.ts"
  )
  await page.getByText("not deployed").waitFor()
  await page.getByRole("tab", { name: "lib/answer.ts" }).focus()
  await page.keyboard.press("ArrowLeft")
  await write(page, `import { answer } from "./lib/answer.ts"\nDeno.serve((request) => answer(`)
  await page.keyboard.press("Control+Enter")
  const problem = page.getByRole("alert").filter({ hasText: "The function was not deployed" })
  await problem.waitFor()
  await page.getByRole("button", { name: /Show index\.ts:2/ }).click()
  await page.locator(".cm-lintRange-error").first().waitFor()
  await write(
    page,
    `import { answer } from "./lib/answer.ts"\nDeno.serve((request) => answer(request.headers.get("x-svc-role")))\n`
  )
  await page.keyboard.press("Control+s")
  await page.getByText("v2", { exact: true }).first().waitFor()
  await page.getByText("not deployed").waitFor({ state: "detached" })

  const as = async (role: string) => {
    await attempt.getByRole("button", { name: /^View as|^As / }).click()
    await page.getByRole("radio", { name: role }).check()
    await page.getByRole("button", { name: "Use", exact: true }).click()
    await attempt.getByRole("button", { name: "Call" }).click()
  }
  await as("A signed-in user")
  await attempt.getByText("for authenticated").waitFor()
  await attempt.getByText("201", { exact: true }).waitFor()
  await as("An anon key without a user")
  await attempt.getByText("500", { exact: true }).waitFor()
  // The place of the error opens its file.
  await part(page, "Logs").getByRole("button", { name: "lib/answer.ts:2:30" }).click()
  await editor(page, "lib/answer.ts").waitFor()
  assert.strictEqual(await page.locator(".cm-lintRange-error").count(), 1)

  await page.getByRole("button", { name: "Roll back to v1" }).click()
  await page.getByText("Version 1 is called now").waitFor()
  await page.getByRole("button", { name: "Call v2" }).waitFor()
  await page.getByRole("tab", { name: "lib/answer.ts" }).waitFor({ state: "detached" })
  await page.goto(at("/functions", service))
  const row = page.getByRole("row", { name: /hello/ })
  await row.getByText("v1", { exact: true }).waitFor()
  const { json } = await ask(service, "GET /api/functions", { key: service.service_role })
  assert.deepInclude((json as ReadonlyArray<object>)[0], { name: "hello", version: 1, calls: 3, errors: 1 })
})

it("the keyboard reaches everything, and leaves the editor", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/functions/hello", service))
  await editor(page).waitFor()
  await assertKeyboard(page)
})

it("secrets are set and deleted, and never shown", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/functions", service))
  await page.getByRole("button", { name: "Set secret" }).click()
  await page.getByLabel("Name", { exact: true }).fill("MAIL_TOKEN")
  await page.getByLabel("Value").fill("s3cr3t-value")
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
  const secrets = page.getByRole("table", { name: "Secrets" })
  await secrets.getByText("MAIL_TOKEN").waitFor()
  assert.notInclude(await page.content(), "s3cr3t")
  await page.getByRole("button", { name: "Replace MAIL_TOKEN" }).click()
  assert.strictEqual(await page.getByLabel("Value").inputValue(), "")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Delete MAIL_TOKEN" }).click()
  await page.getByRole("button", { name: "Delete secret" }).click()
  await page.getByText("No secrets").waitFor()
})

it("a draft is not lost when another version is deployed meanwhile", async () => {
  const key = service.service_role
  const deploy = (code: string) =>
    ask(service, "PUT /api/functions/shared", { key, body: { files: { "index.ts": code } } })
  await deploy(`Deno.serve(() => new Response("one"))`)
  const page = await openPage({ on: service })
  await page.goto(at("/functions/shared", service))
  await write(page, `Deno.serve(() => new Response("my draft"))`)
  await deploy(`Deno.serve(() => new Response("two"))`)
  await page.getByText("v2", { exact: true }).first().waitFor()
  await editor(page).getByText("my draft").waitFor()
  await page.getByRole("button", { name: "Discard" }).click()
  await editor(page).getByText("two").waitFor()
})

test("without Deno the page says how it is installed", async () => {
  const page = await openPage({ on: without })
  await page.goto(at("/functions", without))
  await page.getByText("Deno is not installed").waitFor()
  await page.getByText("npm install deno").waitFor()
  assert.strictEqual(await page.getByRole("button", { name: "Create function" }).count(), 0)
})

describe.skipIf(isWithout("deno"))("states", () => {
  checkStates(
    {
      functions: async (page) => {
        await page.goto(at("/functions", service))
        await page.getByRole("table", { name: "Functions" }).waitFor()
      },
      "function form": async (page) => {
        await page.goto(at("/functions", service))
        await page.getByRole("button", { name: "Create function" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Create function" }).click()
      },
      "secret form": async (page) => {
        await page.goto(at("/functions", service))
        await page.getByRole("button", { name: "Set secret" }).click()
      },
      function: async (page) => {
        await page.goto(at("/functions/hello", service))
        await editor(page).waitFor()
        await part(page, "Logs").getByText("called by").first().waitFor()
      },
      "function, tried": async (page) => {
        await page.goto(at("/functions/hello", service))
        await editor(page).waitFor()
        await page.getByRole("button", { name: "Call", exact: true }).click()
        await page.getByText("200", { exact: true }).waitFor()
      },
      "function that is not deployed": async (page) => {
        await page.goto(at("/functions/hello", service))
        await write(page, "Deno.serve((")
        await page.keyboard.press("Control+Enter")
        await page.getByText("The function was not deployed").waitFor()
      },
      "function gone": async (page) => {
        await page.goto(at("/functions/none", service))
        await page.getByText("No such function").waitFor()
      }
    },
    { on: () => service }
  )
})

describe("states without Deno", () => {
  checkStates(
    {
      "functions, empty": async (page) => {
        await page.goto(at("/functions", without))
        await page.getByText("npm install deno").waitFor()
      }
    },
    { on: () => without }
  )
})
