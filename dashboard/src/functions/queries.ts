import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import { session } from "../wire/session.ts"
import type { Wire } from "../wire/Wire.ts"

export type FunctionEntry = Wire["GET /api/functions/"]["success"][number]
export type Files = Wire["GET /api/functions/:name/versions/:version/files"]["success"]
export type Trial = Wire["POST /api/functions/:name/call"]["payload"]
export type TrialResult = Wire["POST /api/functions/:name/call"]["success"]

export const isName = (name: string) => /^[A-Za-z][\w-]{0,62}$/.test(name)

export const useFunctions = () =>
  useQuery({
    queryKey: ["functions"],
    queryFn: ({ signal }) => call("GET /api/functions/", { signal }),
    refetchInterval: 5000
  })

export const useVersions = (name: string) =>
  useQuery({
    queryKey: ["functions", name, "versions"],
    queryFn: ({ signal }) => call("GET /api/functions/:name/versions", { params: { name }, signal })
  })

/** What was deployed never changes. Version 0 is of the folder, whose files are not here. */
export const useFiles = (name: string, version: number) =>
  useQuery({
    queryKey: ["functions", name, "files", version],
    queryFn: ({ signal }) =>
      call("GET /api/functions/:name/versions/:version/files", { params: { name, version }, signal }),
    enabled: version > 0,
    // A draft must outlive a new version.
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY
  })

export const useSecrets = () =>
  useQuery({
    queryKey: ["function-secrets"],
    queryFn: ({ signal }) => call("GET /api/functions/secrets", { signal })
  })

/** What of the service functions depend on; undefined until it is known. */
export const useFeatures = () =>
  useQuery({ queryKey: ["config"], queryFn: session.config, staleTime: Number.POSITIVE_INFINITY }).data?.features

/** How a function is, as the kind of a badge and its words. */
export const stateOf = ({ state }: FunctionEntry): readonly [kind: string, words: string] =>
  state === "failing" ? ["bad", "failing"] : state === "running" ? ["good", "running"] : ["", "idle"]
