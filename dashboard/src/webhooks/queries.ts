import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import { parseFaithful } from "../wire/exact.ts"
import type { Wire } from "../wire/Wire.ts"

export type Webhook = Wire["GET /api/webhooks/"]["success"][number]
export type Attempt = Wire["GET /api/webhooks/:id/logs"]["success"][number]
export type Outcome = "succeeded" | "failed"
export type Sent = Wire["POST /api/webhooks/:id/test"]["success"]

/** A delivery that happens while the page is open is shown within this many ms. */
const live = 1500

export const useWebhooks = () =>
  useQuery({
    queryKey: ["webhooks"],
    queryFn: ({ signal }) => call("GET /api/webhooks/", { signal }),
    refetchInterval: 5000
  })

export const useWebhook = (id: number) =>
  useQuery({
    queryKey: ["webhooks", id],
    queryFn: ({ signal }) => call("GET /api/webhooks/:id", { params: { id }, signal }),
    refetchInterval: live
  })

/** Entries of a page of the log. */
const limit = 50

/** Payloads together after which the service ends a page before its limit. */
const fullPage = 1_000_000

/** The log before an entry, newest first; without one, from the newest. */
export const useLog = (id: number, outcome: Outcome | undefined, before: number | undefined) =>
  useQuery({
    queryKey: ["webhooks", id, "logs", outcome ?? "all", before ?? "newest"],
    queryFn: async ({ signal }) => {
      const entries = await call("GET /api/webhooks/:id/logs", {
        params: { id },
        query: { limit, ...(outcome === undefined ? {} : { outcome }), ...(before === undefined ? {} : { before }) },
        signal,
        parse: parseFaithful
      })
      const more = entries.length === limit || JSON.stringify(entries).length > fullPage
      return { entries, more }
    },
    refetchInterval: before === undefined ? live : false
  })
