import { assert, it } from "vitest"
import { knownSettings, rememberSetting } from "../../src/domain/Settings.ts"

it.each([
  ["https://me:s3cret@store.example.com/x", "https://me:****@store.example.com/x"],
  ["https://:s3cret@store.example.com", "https://:****@store.example.com"],
  ["https://store.example.com:9000/a@b", "https://store.example.com:9000/a@b"],
  ["https://s3cr%40et:s3cr%2Fet@h", "https://s3cr%40et:****@h"],
  ["plain", "plain"],
  ["", null]
])("the setting %s is shown as %s", (given, shown) => {
  rememberSetting("TEST_SETTING", given, undefined)
  const found = knownSettings().find(({ name }) => name === "TEST_SETTING")
  assert.deepStrictEqual(found, { name: "TEST_SETTING", value: shown, default: null, is_set: given !== "" })
})
