/** The author of a change as histories record it: the key may be renamed or revoked later, the identity deleted. */
export type Author =
  | { readonly type: "key"; readonly id: number; readonly label: string }
  /** `id` is the identity provider's; `label` the e-mail address at the time of the change. */
  | { readonly type: "identity"; readonly id: string; readonly label: string }
