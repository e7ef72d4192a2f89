import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { parseObject, prettyJson } from "../ui/json/json.ts"
import { JsonField } from "../ui/json/JsonField.tsx"
import { call } from "../wire/call.ts"
import type { Environment, Project } from "./queries.ts"

interface EnvironmentFormProps {
  readonly project: Project
  /** Undefined: a new one. */
  readonly environment: Environment | undefined
  readonly onClose: () => void
  readonly onSaved: (environment: Environment) => void
}

type Config = Environment["config"]

/** PATCH keeps the keys that it is not given, so those that were deleted are sent as null. */
const changeOf = (before: Config, after: Config): Config => ({
  ...Object.fromEntries(Object.keys(before).map((key) => [key, null])),
  ...after
})

const slugProblem = (slug: string) =>
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(slug)
    ? undefined
    : "Lower-case letters, digits and hyphens, with a letter or a digit at both ends"

export const EnvironmentForm = ({ environment, onClose, onSaved, project }: EnvironmentFormProps) => {
  const [name, setName] = useState(environment?.name ?? "")
  const [slug, setSlug] = useState("")
  const [text, setText] = useState(() => prettyJson(environment?.config ?? {}))
  const [checked, setChecked] = useState(false)
  const config = parseObject(text)
  const nameProblem = name === "" ? "An environment needs a name" : undefined
  const wrongSlug = environment === undefined ? slugProblem(slug) : undefined

  const save = async (value: Config) =>
    onSaved(
      environment === undefined
        ? await call("POST /api/projects/:projectId/environments", {
            params: { projectId: project.id },
            payload: { name, slug, config: value }
          })
        : await call("PATCH /api/environments/:id", {
            params: { id: environment.id },
            payload: { name, config: changeOf(environment.config, value) }
          })
    )

  return (
    <FormDialog
      title={environment === undefined ? "Create an environment" : `Change ${environment.name}`}
      verb={environment === undefined ? "Create environment" : "Save"}
      failed={environment === undefined ? "The environment was not created" : "The environment was not changed"}
      run={() => {
        setChecked(true)
        const valid = nameProblem === undefined && wrongSlug === undefined && "value" in config
        return valid ? save(config.value as Config) : undefined
      }}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        maxLength={100}
        placeholder="Development"
        problem={checked ? nameProblem : undefined}
        onText={setName}
      />
      {environment === undefined ? (
        <Field
          label="Slug"
          value={slug}
          maxLength={63}
          placeholder="dev"
          autoComplete="off"
          spellCheck={false}
          problem={checked ? wrongSlug : undefined}
          hint={
            <>
              Creates the schema <code>{`${project.schema}_${slug === "" ? "…" : slug}`}</code> and the bucket{" "}
              <code>{`${project.bucket}-${slug === "" ? "…" : slug}`}</code>. It can&apos;t be changed.
            </>
          }
          onText={setSlug}
        />
      ) : null}
      <JsonField
        label="Config"
        text={text}
        problem={"problem" in config ? config.problem : undefined}
        hint="A JSON object that your apps and tools read. A key whose value is null is removed."
        onText={setText}
      />
    </FormDialog>
  )
}
