import { assert, inject, it } from "vitest"
import { evaluateDraft } from "../../dashboard/src/flags/draft.ts"
import { type FlagBulkEvaluation } from "../../src/domain/flags/Evaluation.ts"
import { evaluate, flagOf, flags, makeFlag, makeSegment } from "../support/flags/api.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()
let made = 0
const newKey = () => `ui-flag-${process.pid}-${++made}`

it("a flag is created, given a rule with the server's messages, tried on a draft, and saved for one environment", async () => {
  const key = newKey()
  const staff = `${key}-staff`
  await makeSegment(service, staff, { ends_with: [{ var: "email" }, "@example.com"] })
  const page = await openPage()
  await page.goto(at("/flags"))
  await page.getByRole("button", { name: "Create flag" }).first().click()
  const dialog = page.getByRole("dialog", { name: "Create a flag" })
  await dialog.getByLabel("Key").fill("no spaces")
  await dialog.getByRole("button", { name: "Create flag" }).click()
  await dialog.getByRole("alert").waitFor()
  await dialog.getByLabel("Key").fill(key)
  await dialog.getByRole("button", { name: "Create flag" }).click()
  await page.getByRole("link", { name: /^staging/ }).click()
  await page.waitForURL(/environment=staging/)

  await page.getByRole("button", { name: "JSON", exact: true }).click()
  const targeting = page.getByLabel("Targeting as JSON")
  await targeting.fill('{"if": [')
  await page.getByText("This is not valid JSON").waitFor()
  await targeting.fill('{"if": [{"var": "x"}, "purple"]}')
  await page.getByRole("button", { name: "Save in staging" }).click()
  await page
    .getByRole("listitem")
    .filter({ hasText: /^targeting\.if\.1: / })
    .waitFor()

  await targeting.fill(`{"if": [{"$ref": "${staff}"}, "on", {"fractional": [["on", 0], ["off", 100]]}]}`)
  await page.getByLabel("Context").fill('{"targetingKey": "ü-1", "email": "ann@example.com"}')
  await page.getByRole("button", { name: "Evaluate" }).click()
  const draft = page.getByRole("region", { name: "By the draft" })
  await draft.getByText("TARGETING_MATCH").waitFor()
  assert.match((await draft.textContent()) ?? "", /on/)
  await page.getByRole("region", { name: "As saved", exact: true }).getByText("STATIC").waitFor()

  await page.getByRole("button", { name: "Save in staging" }).click()
  await page.getByText("Saved; active in staging now").waitFor()
  const context = { email: "ann@example.com" }
  assert.strictEqual((await evaluate(service, key, context, "staging")).value, true)
  assert.strictEqual((await evaluate(service, key, context, "production")).value, false)

  await page.getByRole("button", { name: "Promote…" }).click()
  const promote = page.getByRole("dialog", { name: `Promote ${key}` })
  await promote.getByLabel("To").selectOption("production")
  await promote.getByRole("region", { name: "Changes in production" }).getByText(staff).waitFor()
  await promote.getByRole("button", { name: "Promote to production" }).click()
  await page.getByText(`${key}: production is now as staging`).waitFor()
  assert.strictEqual((await evaluate(service, key, context, "production")).value, true)

  const history = page.getByRole("table", { name: "History" })
  await history
    .getByRole("row", { name: /created/ })
    .getByRole("button", { name: "Revert to this" })
    .click()
  await page.getByRole("button", { name: "Revert flag" }).click()
  await page.getByText("Flag reverted").waitFor()
  assert.deepStrictEqual((await flagOf(service, `GET /${key}?environment=staging`)).targeting, {})
  assert.deepStrictEqual((await flagOf(service, `GET /${key}?environment=production`)).targeting, {})
})

it("a draft that began before another change shows that change, and is kept", async () => {
  const key = newKey()
  await makeFlag(service, key)
  const page = await openPage()
  await page.goto(at(`/flags/${key}?environment=dev`))
  await page.getByLabel("Default variant").selectOption("on")
  await flagOf(service, `PUT /${key}`, { description: "changed elsewhere" })
  await page.getByRole("button", { name: "Save in dev" }).click()
  await page.getByRole("region", { name: "Changes by others" }).getByText("changed elsewhere").waitFor()
  assert.strictEqual(await page.getByLabel("Default variant").inputValue(), "on")
  await page.getByRole("button", { name: "Discard my draft" }).click()
  await page.getByLabel("Description").and(page.locator('[value="changed elsewhere"]')).waitFor()
})

it("the browser evaluates a draft as the service evaluates it once it is saved", async () => {
  const key = newKey()
  const targeting = { fractional: [{ var: "who" }, ["on", 50], ["off", 50]] }
  await makeFlag(service, key, { targeting })
  const page = await openPage()
  await page.goto(at(`/flags/${key}`))
  for (const who of ["ann", "bob", "Zoë", "🙂 user", "漢字"]) {
    const { variant } = await evaluate(service, key, { who })
    await page.getByLabel("Context").fill(JSON.stringify({ who }))
    await page.getByRole("button", { name: "Evaluate" }).click()
    const draft = page.getByRole("region", { name: /^By the draft/ })
    await draft.locator("b", { hasText: new RegExp(`^${variant}$`) }).waitFor()
  }
})

it("the dashboard's evaluator and the service agree on 10 rules for 100 contexts each", async () => {
  const staff = `${newKey()}-staff`
  const rules = { ends_with: [{ var: "email" }, "@example.com"] }
  await makeSegment(service, staff, rules)
  const drafts = await Promise.all(
    Array.from({ length: 10 }, async (_, at) => {
      const key = newKey()
      const targeting = {
        if: [
          { $ref: staff },
          "on",
          { and: [{ ">=": [{ var: "age" }, 10 * at] }, { sem_ver: [{ var: "version" }, ">=", "2.1.0"] }] },
          {
            fractional: [
              { cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] },
              ["on", 9 * at],
              ["off", 100 - 9 * at]
            ]
          },
          { in: [{ var: "country" }, ["de", "fr"]] },
          "on",
          null
        ]
      }
      const { variants } = await makeFlag(service, key, { targeting })
      return { key, state: "ENABLED", variants, targeting, defaultVariant: "off" } as const
    })
  )
  const flagKeys = drafts.map(({ key }) => key)
  for (let at = 0; at < 100; at++) {
    const context = {
      targetingKey: `user-${at}-${["a", "ü", "🙂", "漢"][at % 4]}`,
      ...(at % 3 === 0 ? {} : { email: `u${at}@${at % 7 === 0 ? "example.com" : "other.org"}` }),
      ...(at % 5 === 0 ? {} : { age: at % 90 }),
      version: ["1.9.0", "2.1.0", "2.1.0-beta", "x", "10.0.1"][at % 5],
      country: ["de", "us", null][at % 3]
    }
    const { json } = await flags(service, "POST /evaluate/bulk", { flagKeys, context, environment: "production" })
    const saved = (json as FlagBulkEvaluation).flags
    for (const [which, draft] of drafts.entries()) {
      const segment = { key: staff, rules } as unknown as Parameters<typeof evaluateDraft>[3][number]
      const { metadata: _, ...own } = evaluateDraft(draft, context, "production", [segment])
      assert.deepInclude(saved[which], own, JSON.stringify(context))
    }
  }
})

it("a segment in use can't be deleted, and the flags that use it are named", async () => {
  const key = newKey()
  const segment = `${key}-group`
  await makeSegment(service, segment, { "==": [{ var: "team" }, "a"] })
  await makeFlag(service, key, { targeting: { if: [{ $ref: segment }, "on"] } })
  const page = await openPage()
  await page.goto(at("/segments"))
  const row = page.getByRole("row", { name: new RegExp(segment) })
  await row.getByRole("link", { name: key, exact: true }).waitFor()
  await row.getByRole("button", { name: "Delete" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText(`It is used by ${key}`).waitFor()
  await dialog.getByLabel(`Type ${segment} to confirm`).fill(segment)
  await dialog.getByRole("button", { name: "Delete segment" }).click()
  await dialog.getByRole("alert").getByText("SEGMENT_IN_USE").waitFor()
})

it("a rule is built from branches, conditions and shares, and is the JSON that it shows", async () => {
  const key = newKey()
  const staff = `${key}-staff`
  await makeSegment(service, staff, { ends_with: [{ var: "email" }, "@example.com"] })
  await makeFlag(service, key, {})
  const page = await openPage()
  await page.goto(at(`/flags/${key}`))
  await page.getByText("All users get").waitFor()
  await page.getByRole("button", { name: "Branch", exact: true }).click()
  const first = page.getByRole("region", { name: "Branch 1" })
  await first.getByLabel("Comparison").selectOption("user is in segment")
  await first.getByLabel("Segment").selectOption(staff)
  await first.getByRole("button", { name: "Condition", exact: true }).click()
  const age = first.getByRole("group", { name: "Condition" }).nth(1)
  await age.getByLabel("Attribute").fill("age")
  await age.getByLabel("Comparison").selectOption("is at least")
  await age.getByLabel("Type of Value").selectOption("number")
  await age.getByLabel("Value", { exact: true }).fill("18")
  await first.getByLabel("they get: what users get").selectOption("on")
  const rest = page.getByRole("region", { name: "Otherwise" })
  await rest.getByLabel("what users get").selectOption("a share of the users each")
  await rest.getByLabel("Share of on").fill("10")
  assert.strictEqual(await rest.getByLabel("Percent of off").inputValue(), "90")
  await rest.getByLabel("Share of off").focus()
  await page.keyboard.press("ArrowLeft")
  assert.strictEqual(await rest.getByLabel("Percent of on").inputValue(), "11")
  await assertAccessible(page, "the rule builder")
  await page.getByRole("button", { name: "JSON", exact: true }).click()
  const rule = {
    if: [
      { and: [{ $ref: staff }, { ">=": [{ var: "age" }, 18] }] },
      "on",
      {
        fractional: [
          ["on", 11],
          ["off", 89]
        ]
      }
    ]
  }
  assert.deepStrictEqual(JSON.parse(await page.getByLabel("Targeting as JSON").inputValue()), rule)
  await page.getByRole("button", { name: "Builder" }).click()
  await page.getByRole("button", { name: "Save in production" }).click()
  await page.getByText("Saved; active in production now").waitFor()
  const saved = await flagOf(service, `GET /${key}?environment=production`)
  assert.deepStrictEqual(saved.targeting, rule)
  assert.isTrue((await evaluate(service, key, { email: "a@example.com", age: 18 }, "production")).value)
})

it("a rule that the builder can't show stays JSON, and the rest of the flag is saved without changing it", async () => {
  const key = newKey()
  const targeting = { if: [{ "!": [{ in: ["x", { var: ["a", 1] }] }] }, "on", null] }
  await makeFlag(service, key, { targeting })
  const page = await openPage()
  await page.goto(at(`/flags/${key}`))
  await page.getByText("The builder can't show all of this rule").waitFor()
  assert.strictEqual(await page.getByRole("button", { name: "Builder" }).getAttribute("aria-disabled"), "true")
  await page.getByLabel("Description").fill("Kept as it is")
  await page.getByRole("button", { name: "Save in production" }).click()
  await page.getByText("Saved; active in production now").waitFor()
  const saved = await flagOf(service, `GET /${key}?environment=production`)
  assert.deepStrictEqual(saved.targeting, targeting)
  // What is typed does not become the builder's before it is finished.
  await page.getByLabel("Targeting as JSON").fill("{}")
  await page.getByLabel("Targeting as JSON").waitFor()
})
