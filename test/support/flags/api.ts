import { assert } from "vitest"
import { type Flag } from "../../../src/domain/flags/Flag.ts"
import { type FlagEvaluation } from "../../../src/domain/flags/Evaluation.ts"
import { ask, type Reply, type Request } from "../client.ts"
import { type Address } from "../service.ts"

type Service = Pick<Address, "url" | "service_role">

/** Sends a request under /api/flags with a service_role key, such as `"PUT /new-ui?environment=dev"`. */
export const flags = (service: Service, line: string, body?: unknown, headers?: Request["headers"]): Promise<Reply> => {
  const [method = "", path = ""] = line.split(" ", 2)
  return ask(service, `${method} /api/flags${path}`, {
    key: service.service_role,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers })
  })
}

/** As above; the request must succeed. Returns the record. */
export const flagOf = async (service: Service, line: string, body?: unknown): Promise<Flag> => {
  const reply = await flags(service, line, body)
  assert.oneOf(reply.status, [200, 201], reply.text)
  return reply.json as Flag
}

/** Creates a boolean flag, which is off unless `given` has a rule. */
export const makeFlag = (service: Service, key: string, given: object = {}) =>
  flagOf(service, "POST ", {
    key,
    type: "boolean",
    variants: { on: true, off: false },
    defaultVariant: "off",
    ...given
  })

export const makeSegment = async (service: Service, key: string, rules: object) => {
  const reply = await flags(service, "POST /segments", { key, rules })
  assert.strictEqual(reply.status, 201, reply.text)
}

export const evaluate = async (service: Service, flagKey: string, context: object = {}, environment?: string) => {
  const reply = await flags(service, "POST /evaluate", {
    flagKey,
    context,
    ...(environment === undefined ? {} : { environment })
  })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as FlagEvaluation
}
