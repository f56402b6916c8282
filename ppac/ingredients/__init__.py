"""What several methods are made of: propensities, popularity groups, popularity factors."""
