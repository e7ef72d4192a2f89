import type { Wire } from "../../wire/Wire.ts"

export type Policy = NonNullable<Wire["GET /api/storage/buckets/:bucket/policy"]["success"]["policy"]>

/** Who may use a bucket without a link, in words of the page. */
export type Access =
  | { readonly tag: "private" }
  /** Everyone reads objects whose keys begin with the prefix. */
  | { readonly tag: "public"; readonly prefix: string }
  | { readonly tag: "custom"; readonly text: string }

const resourceOf = (bucket: string, prefix: string) => `arn:aws:s3:::${bucket}/${prefix}*`

export const publicPolicy = (bucket: string, prefix: string): Policy => ({
  Version: "2012-10-17",
  Statement: [
    { Sid: "PublicRead", Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: resourceOf(bucket, prefix) }
  ]
})

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** A policy that is not exactly one of ours is shown as it is. */
export const accessOf = (bucket: string, policy: Policy | null, pretty: (value: unknown) => string): Access => {
  if (policy === null) return { tag: "private" }
  const statements = policy.Statement as ReadonlyArray<{ readonly Resource?: unknown }>
  const resource = Array.isArray(policy.Statement) ? statements[0]?.Resource : undefined
  const start = `arn:aws:s3:::${bucket}/`
  if (typeof resource === "string" && resource.startsWith(start) && resource.endsWith("*")) {
    const prefix = resource.slice(start.length, -1)
    if (same(policy, publicPolicy(bucket, prefix))) return { tag: "public", prefix }
  }
  return { tag: "custom", text: pretty(policy) }
}
