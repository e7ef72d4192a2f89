import { queryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import { session } from "../wire/session.ts"
import type { Wire } from "../wire/Wire.ts"

export type Bucket = Wire["GET /api/storage/buckets/"]["success"]["buckets"][number]
export type ObjectEntry = Wire["GET /api/storage/buckets/:bucket/objects/"]["success"]["objects"][number]
export type CorsRule = Wire["GET /api/storage/buckets/:bucket/cors"]["success"]["corsRules"][number]

export const useBuckets = () =>
  useQuery({ queryKey: ["buckets"], queryFn: ({ signal }) => call("GET /api/storage/buckets/", { signal }) })

/** Keys of one page of a listing. */
const pageSize = 200

/** What is directly in a folder, page by page; leaving the folder aborts the request. */
export const useFolder = (bucket: string, prefix: string) =>
  useInfiniteQuery({
    queryKey: ["objects", bucket, prefix],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/storage/buckets/:bucket/objects/", {
        params: { bucket },
        query: {
          prefix,
          delimiter: "/",
          max_keys: pageSize,
          ...(pageParam === null ? {} : { continuation_token: pageParam })
        },
        signal
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ is_truncated, next_continuation_token }) => (is_truncated ? next_continuation_token : null)
  })

/** The origin that presigned URLs have. */
const useStoreOrigin = () =>
  useQuery({ queryKey: ["config"], queryFn: session.config, staleTime: Number.POSITIVE_INFINITY })

const matches = (pattern: string, text: string) => {
  const [start = "", end] = pattern.split("*")
  return end === undefined
    ? pattern === text
    : text.length >= start.length + end.length && text.startsWith(start) && text.endsWith(end)
}

/** Whether the rules let pages of this origin read and write objects, with what uploads in parts need. */
export const allowsBrowser = (rules: ReadonlyArray<CorsRule>, origin: string) =>
  (["GET", "PUT"] as const).every((method) => {
    // The store uses the first rule that matches.
    const rule = rules.find(
      ({ AllowedMethods, AllowedOrigins }) =>
        AllowedMethods.includes(method) && AllowedOrigins.some((pattern) => matches(pattern, origin))
    )
    if (rule === undefined) return false
    const headers = new Set(rule.AllowedHeaders?.map((one) => one.toLowerCase()))
    const exposed = new Set(rule.ExposeHeaders?.map((one) => one.toLowerCase()))
    return method === "GET" || ((headers.has("*") || headers.has("content-type")) && exposed.has("etag"))
  })

/** The rule that this dashboard needs. */
export const ruleFor = (origin: string): CorsRule => ({
  ID: "dashboard",
  AllowedOrigins: [origin],
  AllowedMethods: ["GET", "PUT", "HEAD"],
  AllowedHeaders: ["*"],
  ExposeHeaders: ["ETag"],
  MaxAgeSeconds: 3600
})

export const corsQuery = (bucket: string) =>
  queryOptions({
    queryKey: ["cors", bucket],
    queryFn: ({ signal }) => call("GET /api/storage/buckets/:bucket/cors", { params: { bucket }, signal })
  })

/**
 * Whether presigned URLs of a bucket can be used from this page. Browsers ask the store first. The embedded one admits
 * the service's own pages; others refuse unless a rule of the bucket names the page's origin.
 */
export const useAccess = (bucket: string) => {
  const config = useStoreOrigin()
  const cors = useQuery(corsQuery(bucket))
  const admitted = config.data?.s3_admits_pages === true || config.data?.s3_public_origin === location.origin
  const rules = cors.data?.corsRules
  return { open: admitted || (rules === undefined ? undefined : allowsBrowser(rules, location.origin)), rules }
}
