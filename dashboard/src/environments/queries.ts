import { useQuery } from "@tanstack/react-query"
import { useSettings, valueOf, valuesOf } from "../catalogue/settings.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Environment = Wire["GET /api/environments/:id"]["success"]

/** The project that the service serves, as configured. */
export interface Project {
  readonly id: string
  readonly limit: number
  /** Prefixes of the names of its schemas and buckets. */
  readonly schema: string
  readonly bucket: string
  /** The schemas that `/v1/db` serves. */
  readonly served: ReadonlyArray<string>
}

/** The project and its environments, deleted ones included. */
export const useEnvironments = () => {
  const settings = useSettings()
  const project: Project | undefined = settings.data && {
    id: valueOf(settings.data, "SVC_PROJECT_ID"),
    limit: Number(valueOf(settings.data, "SVC_MAX_ENVIRONMENTS")),
    schema: valueOf(settings.data, "SVC_PROJECT_SCHEMA"),
    bucket: valueOf(settings.data, "SVC_PROJECT_BUCKET"),
    served: valuesOf(settings.data, "SVC_DB_SCHEMAS")
  }
  const environments = useQuery({
    queryKey: ["environments", project?.id],
    enabled: project !== undefined,
    queryFn: ({ signal }) =>
      call("GET /api/projects/:projectId/environments", {
        params: { projectId: project?.id ?? "" },
        query: { include_deleted: "true" },
        signal
      })
  })
  return { project, settings, environments }
}
