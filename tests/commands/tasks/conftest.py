from support.hub_fixtures import hub, pauses

__all__ = ["hub", "pauses"]
