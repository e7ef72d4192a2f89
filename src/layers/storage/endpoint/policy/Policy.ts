import { type PolicyContext, matchesWildcards } from "./Conditions.ts"
import { type PolicyStatement } from "./Document.ts"

export interface PolicyRequest {
  readonly by: "owner" | "anonymous"
  /** Such as `s3:GetObject`. */
  readonly action: string
  /** `arn:aws:s3:::bucket` or `arn:aws:s3:::bucket/key`. */
  readonly resource: string
  readonly context: PolicyContext
}

/** The policy's own verdict: `Deny` takes precedence over `Allow`; undefined if no statement matches. */
export const evaluatePolicy = (
  statements: ReadonlyArray<PolicyStatement>,
  request: PolicyRequest
): "Allow" | "Deny" | undefined => {
  let found: "Allow" | undefined
  for (const statement of statements) {
    if (!fits(statement, request)) continue
    if (statement.effect === "Deny") return "Deny"
    found = "Allow"
  }
  return found
}

/** Whether the statement is about the caller and the action, for some resource. */
export const concerns = ({ actions, principals }: PolicyStatement, by: PolicyRequest["by"], action: string) => {
  const lower = action.toLowerCase()
  return (
    principals.patterns.some((each) => each === "*" || each === by) !== principals.not &&
    actions.patterns.some((pattern) => matchesWildcards(pattern, lower)) !== actions.not
  )
}

const fits = (statement: PolicyStatement, request: PolicyRequest) => {
  const { conditions, resources } = statement
  return (
    concerns(statement, request.by, request.action) &&
    resources.patterns.some((pattern) => matchesWildcards(pattern, request.resource)) !== resources.not &&
    conditions.every((condition) => condition(request.context))
  )
}

/** Whether the policy is public in S3's sense: it allows everyone something without conditions. */
export const isPublic = (statements: ReadonlyArray<PolicyStatement>) =>
  statements.some(
    ({ conditions, effect, principals }) =>
      effect === "Allow" && conditions.length === 0 && principals.patterns.includes("*") && !principals.not
  )

/** Whether the policy allows anonymous callers anything, be it under conditions. */
export const allowsAnonymous = (statements: ReadonlyArray<PolicyStatement>) =>
  statements.some(({ effect, principals }) => effect === "Allow" && principals.patterns.includes("*"))
