import { type PolicyContext } from "./Conditions.ts"
import { type PolicyStatement } from "./Document.ts"
import { matchesWildcards } from "./Wildcards.ts"

export interface PolicyQuestion {
  readonly by: "owner" | "anonymous"
  /** Such as `s3:GetObject`. */
  readonly action: string
  /** `arn:aws:s3:::bucket` or `arn:aws:s3:::bucket/key`. */
  readonly resource: string
  readonly context: PolicyContext
}

/** What the policy says by itself: `Deny` wins over `Allow`; undefined when no statement fits. */
export const evaluatePolicy = (
  statements: ReadonlyArray<PolicyStatement>,
  question: PolicyQuestion
): "Allow" | "Deny" | undefined => {
  let found: "Allow" | undefined
  for (const statement of statements) {
    if (!fits(statement, question)) continue
    if (statement.effect === "Deny") return "Deny"
    found = "Allow"
  }
  return found
}

const fits = ({ actions, conditions, principals, resources }: PolicyStatement, question: PolicyQuestion) => {
  const action = question.action.toLowerCase()
  return (
    principals.patterns.some((each) => each === "*" || each === question.by) !== principals.not &&
    actions.patterns.some((pattern) => matchesWildcards(pattern, action)) !== actions.not &&
    resources.patterns.some((pattern) => matchesWildcards(pattern, question.resource)) !== resources.not &&
    conditions.every((condition) => condition(question.context))
  )
}

/** Whether it lets everybody in without any condition: what S3 calls public. */
export const isPublic = (statements: ReadonlyArray<PolicyStatement>) =>
  statements.some(
    ({ conditions, effect, principals }) =>
      effect === "Allow" && conditions.length === 0 && principals.patterns.includes("*") && !principals.not
  )
