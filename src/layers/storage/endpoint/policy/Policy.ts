import { type PolicyContext } from "./Conditions.ts"
import { type PolicyStatement } from "./Document.ts"
import { matchesWildcards } from "./Wildcards.ts"

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

const fits = ({ actions, conditions, principals, resources }: PolicyStatement, request: PolicyRequest) => {
  const action = request.action.toLowerCase()
  return (
    principals.patterns.some((each) => each === "*" || each === request.by) !== principals.not &&
    actions.patterns.some((pattern) => matchesWildcards(pattern, action)) !== actions.not &&
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
