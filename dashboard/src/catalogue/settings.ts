import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Setting = Wire["GET /api/settings"]["success"][number]

/** The settings that hold in the process that responds. They change with a restart only. */
export const useSettings = () =>
  useQuery({
    queryKey: ["settings"],
    queryFn: ({ signal }) => call("GET /api/settings", { signal }),
    staleTime: 60_000
  })

/** The value of a setting, which the defaults are part of. */
export const valueOf = (settings: ReadonlyArray<Setting>, name: string): string =>
  settings.find((one) => one.name === name)?.value ?? ""

/** The values of a setting that is a list. */
export const valuesOf = (settings: ReadonlyArray<Setting>, name: string): ReadonlyArray<string> =>
  valueOf(settings, name)
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "")
