import { allScopes, scopeGroups } from '../../../parts/scope-list.ts'
import { oauth } from '../../../strings/oauth.ts'
import { Checkbox } from '../../../ui/checkbox.tsx'
import type { AskedScope } from './grantable.ts'

type Props = {
  scopes: readonly AskedScope[]
  mayGrant: (scope: AskedScope) => boolean
  chosen: readonly string[]
  onChosen: (name: string, chosen: boolean) => void
}

/** In the order and under the names of the form of a key. A scope that no key has comes last. */
const groupsOf = (scopes: readonly AskedScope[]): [string, AskedScope[]][] => {
  const known = scopeGroups.map(([group, names]): [string, AskedScope[]] => [
    group,
    scopes.filter(({ name }) => (names as readonly string[]).includes(name)),
  ])
  const others = scopes.filter(({ name }) => !(allScopes as readonly string[]).includes(name))
  return [...known, [oauth.otherScopes, others] as [string, AskedScope[]]].filter(([, asked]) => asked.length > 0)
}

const ScopeBox = ({ scope, mayGrant, chosen, onChosen }: Omit<Props, 'scopes'> & { scope: AskedScope }) => {
  const { name, description } = scope
  const granted = mayGrant(scope)
  return (
    <Checkbox
      checked={chosen.includes(name)}
      disabled={!granted}
      onChecked={(on) => onChosen(name, on)}
      label={
        <>
          {description} <span className="inline-block font-mono text-muted text-xs">{name}</span>
          {!granted && <span className="block text-muted text-xs">{oauth.scopeNeedsRole}</span>}
        </>
      }
    />
  )
}

export const ScopeList = ({ scopes, ...props }: Props) => (
  <fieldset className="flex flex-col gap-4">
    <legend className="mb-2 font-medium text-sm">{oauth.scopes}</legend>
    {groupsOf(scopes).map(([group, asked]) => (
      <fieldset key={group} className="flex flex-col gap-2">
        <legend className="mb-1.5 text-muted text-xs">{group}</legend>
        {asked.map((scope) => (
          <ScopeBox key={scope.name} scope={scope} {...props} />
        ))}
      </fieldset>
    ))}
  </fieldset>
)
