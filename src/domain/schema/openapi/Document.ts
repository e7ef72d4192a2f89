import { version } from "../../Version.ts"
import { description, errorSchema, headers, parameters, responses, security, securitySchemes } from "./Parts.ts"
import { describeRelation, type OpenApiContext, paragraphs } from "./Relations.ts"
import { describeFunctions } from "./Functions.ts"
import { OpenApiTypes } from "./Types.ts"
import { makeRelationships } from "../../catalogue/Relationships.ts"
import { type OutlinedFunction, type SchemaOutline } from "../Outline.ts"

/** The subject of a document. */
export interface OpenApiSubject {
  readonly schema: string
  /** The default schema, which needs no header. */
  readonly standard: boolean
}

const own = {
  get: {
    tags: ["OpenAPI"],
    summary: "This document",
    operationId: "describe",
    responses: {
      200: {
        description: "OpenAPI 3.1, as far as the asking role may touch what it describes",
        content: { "application/openapi+json": { schema: { type: "object" } } }
      },
      default: { $ref: "#/components/responses/Failed" }
    }
  }
}

/**
 * Generates the OpenAPI 3.1 document of one schema as JSON text. Each `next` is a short step, so that thousands of tables
 * don't block the event loop; the text is the return value.
 */
export function* openApiDocument(
  outline: SchemaOutline,
  { schema, standard }: OpenApiSubject
): Generator<undefined, string> {
  const types = new OpenApiTypes(outline)
  const relations = new Map(outline.relations.map((relation) => [relation.name, relation]))
  const context: OpenApiContext = {
    types,
    relationships: makeRelationships(outline.relationships, (to) => to.schema === schema && relations.has(to.name)),
    relations,
    profile: !standard
  }
  const paths = [entry("/", own)]
  const schemas = [entry("Error", errorSchema)]
  const answers = Object.entries(responses).map(([name, response]) => entry(name, response))
  const asked = Object.entries(parameters).map(([name, parameter]) => entry(name, parameter))

  for (const relation of outline.relations) {
    const described = describeRelation(context, relation)
    paths.push(entry(...described.path))
    for (const one of described.schemas) schemas.push(entry(...one))
    for (const one of described.parameters) asked.push(entry(...one))
    for (const one of described.responses) answers.push(entry(...one))
    yield
  }

  const byName = new Map<string, Array<OutlinedFunction>>()
  for (const fn of outline.functions) {
    const overloads = byName.get(fn.name)
    if (overloads === undefined) byName.set(fn.name, [fn])
    else overloads.push(fn)
  }
  const operationIds = new Set<string>()
  const operationId = (wanted: string) => {
    const base = wanted.replaceAll(/[^\w.-]/g, "_")
    let id = base
    for (let n = 2; operationIds.has(id); n++) id = `${base}_${n}`
    operationIds.add(id)
    return id
  }
  for (const [name, overloads] of byName) {
    const path = describeFunctions(context, name, overloads, operationId)
    if (path !== undefined) paths.push(entry(...path))
    yield
  }

  for (const composite of types.composites()) schemas.push(entry(...composite))

  const comment = paragraphs(outline.schemas[0]?.comment ?? null)
  const info = {
    title: comment.summary ?? `Rows and functions of ${schema}`,
    description: comment.description === undefined ? description : `${comment.description}\n\n${description}`,
    version
  }
  const components = [
    `"schemas":{${schemas.join(",")}}`,
    `"parameters":{${asked.join(",")}}`,
    `"responses":{${answers.join(",")}}`,
    entry("headers", headers),
    entry("securitySchemes", securitySchemes)
  ]
  const parts = [
    entry("openapi", "3.1.0"),
    entry("info", info),
    entry("servers", [{ url: "/v1/db" }]),
    entry("security", security),
    `"paths":{${paths.join(",")}}`,
    `"components":{${components.join(",")}}`
  ]
  return `{${parts.join(",")}}`
}

const entry = (name: string, value: unknown) => `${JSON.stringify(name)}:${JSON.stringify(value)}`
