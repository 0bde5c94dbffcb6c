/** Words of projects. */
export const projects = {
  title: 'Projects',
  help: 'Projects group domains, such as those of one product or team. A domain that names no project is in the default one.',
  one: 'Project',
  create: 'New project',
  empty: 'No project yet',
  emptyHelp: 'A project groups domains, so that keys and lists can be limited to them.',
  name: 'Name',
  slug: 'Slug',
  slugHelp: 'Refers to the project in requests. Made from the name by default.',
  default: 'Default',
  updated: 'Changed',
  delete: 'A project that still has domains is not deleted. This cannot be undone.',
  keptDefault: 'The default project cannot be deleted',
} as const
