import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Environment, EnvironmentChange, EnvironmentId, NewEnvironment } from "../../domain/environments/Environment.ts"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { asRecordChange } from "../wire/RecordChange.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const ofProject = "/api/projects/:projectId/environments"
const inProject = { projectId: Schema.String }
const one = "/api/environments/:id"
const params = { id: EnvironmentId }

/** Environments of the project (spec: Environment). */
export class EnvironmentsApi extends HttpApiGroup.make("environments")
  .add(
    HttpApiEndpoint.get("list", ofProject, {
      params: inProject,
      query: { include_deleted: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: Schema.Array(Environment),
      error: [NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List environments",
        description: "`include_deleted=true` includes deleted ones."
      })
    ),
    HttpApiEndpoint.post("create", ofProject, {
      params: inProject,
      payload: NewEnvironment,
      success: Environment.pipe(HttpApiSchema.status(201)),
      error: [NotFound, InvalidRequest, Forbidden, Conflict, BadGateway, Unavailable, GatewayTimeout]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create an environment with its schema and its bucket",
        description: "The first one is the default. If the schema or the bucket can't be created, nothing is."
      })
    ),
    HttpApiEndpoint.get("find", one, {
      params,
      success: Environment,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show an environment" })),
    HttpApiEndpoint.patch("update", one, {
      params,
      payload: asRecordChange(EnvironmentChange, Environment),
      success: Environment,
      error: [NotFound, InvalidRequest, Forbidden, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Change an environment",
        description:
          "`config`: sets the given keys, and removes those that are null. `is_default: true` replaces the current default."
      })
    ),
    HttpApiEndpoint.delete("remove", one, {
      params,
      success: Success,
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete an environment that is not the default",
        description: "Its schema and its bucket are kept."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .annotateMerge(
    OpenApi.annotations({
      title: "Environments",
      description: "A schema and a bucket each; independent of the environments of flags"
    })
  ) {}
