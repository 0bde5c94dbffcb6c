/** The directory of an org (SCIM): its tokens, people and groups. */
import { makeDirectoryAccounts } from '../../people/scim/directory-accounts.ts'
import { makeDirectoryGroups } from '../../people/scim/directory-groups.ts'
import { makeDirectoryUsers } from '../../people/scim/directory-users.ts'
import { makeGroupMapping } from '../../people/scim/group-mapping.ts'
import { makeManageScimTokens } from '../../people/scim/manage-tokens.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Replacements } from './replacements.ts'
import type { Sso } from './sso.ts'
import type { Team } from './team.ts'

type Needs = { foundation: Foundation; people: People; team: Team; sso: Sso; replacements: Replacements }

export const makeScim = ({ foundation, people, team, sso, replacements }: Needs) => {
  const { db, clock, audit } = foundation
  const { takeOver } = people
  const { endMembership } = team
  const mapping = makeGroupMapping({ db, clock, audit })
  const isVerifiedFor = replacements.isVerifiedFor ?? sso.domains.isVerifiedFor
  const accounts = makeDirectoryAccounts({ clock, audit, mapping, isVerifiedFor, takeOver })
  return {
    mapping,
    tokens: makeManageScimTokens({ db, clock, audit }),
    users: makeDirectoryUsers({ db, clock, accounts, mapping, endMembership }),
    groups: makeDirectoryGroups({ db, clock, mapping }),
  }
}
