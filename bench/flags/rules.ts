/** The measured flags. */

export const bucketing = { cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] }
export const onOff = { on: true, off: false }
export const tiers = { a: "a", b: "b", c: "c" }

export const rules = {
  static: {},
  targeting: {
    if: [{ and: [{ in: [{ var: "country" }, ["de", "at", "ch"]] }, { "==": [{ var: "plan" }, "pro"] }] }, "on", "off"]
  },
  text: { if: [{ ends_with: [{ var: "email" }, "@example.com"] }, "on", "off"] },
  version: { if: [{ sem_ver: [{ var: "appVersion" }, ">=", "2.1.0"] }, "on", "off"] },
  fractional: { fractional: [bucketing, ["on", 10], ["off", 90]] }
} as const

export const context = {
  targetingKey: "8f14e45f-ceea-467f-a0e6-bd5b1d3c9a10",
  plan: "pro",
  country: "ch",
  email: "somebody@example.com",
  appVersion: "2.4.1"
}

/** A flag as the body of POST /api/flags. */
export const newFlag = (key: string, targeting: object) => ({
  key,
  type: "boolean",
  variants: onOff,
  defaultVariant: "off",
  targeting
})
